// Matches buy and sell orders of one share.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

const (
	orders = 1_400_000
	levels = 512
)

type order struct {
	buy   bool
	price int
	size  int
}

type book struct {
	mu       sync.Mutex
	bids     [levels]int
	asks     [levels]int
	traded   int
	turnover int
	middle   float64
	depth    float64
}

func (b *book) submit(o order) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.match(o)
	if left > 0 {
		b.rest(o, left)
	}
	b.measure()
	return o.size - left
}

func (b *book) match(o order) int {
	left := o.size
	if o.buy {
		for p := 0; p <= o.price && left > 0; p++ {
			left -= b.take(&b.asks[p], p, left)
		}
		return left
	}
	for p := levels - 1; p >= o.price && left > 0; p-- {
		left -= b.take(&b.bids[p], p, left)
	}
	return left
}

func (b *book) take(level *int, price, wanted int) int {
	n := min(*level, wanted)
	*level -= n
	b.traded += n
	b.turnover += n * price
	return n
}

func (b *book) rest(o order, left int) {
	if o.buy {
		b.bids[o.price] = min(b.bids[o.price]+left, 5000)
	} else {
		b.asks[o.price] = min(b.asks[o.price]+left, 5000)
	}
}

// measure keeps the volume weighted middle up to date for the ticker.
func (b *book) measure() {
	sum, weight := 0.0, 0.0
	for p := 0; p < levels; p++ {
		v := float64(b.bids[p] + b.asks[p])
		sum += v * float64(p)
		weight += v
	}
	if weight > 0 {
		b.middle = sum / weight
	}
	b.depth = weight
}

type trader struct {
	id   int
	seed uint64
}

func (t *trader) next() order {
	t.seed = t.seed*6364136223846793005 + 1442695040888963407
	r := int(t.seed >> 33)
	o := order{buy: r&1 == 0, size: 1 + r>>1&63}
	spread := r >> 8 & 127
	if o.buy {
		o.price = 270 - spread
	} else {
		o.price = 242 + spread
	}
	return o
}

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil || n < 1 {
		os.Exit(2)
	}
	var b book
	filled := make(chan int, n)
	for i := 0; i < n; i++ {
		t := &trader{id: i, seed: uint64(i)*977 + 5}
		go func() {
			sum := 0
			for k := 0; k < orders/n; k++ {
				sum += b.submit(t.next())
			}
			filled <- sum
		}()
	}
	total := 0
	for i := 0; i < n; i++ {
		total += <-filled
	}
	fmt.Printf("filled %d, turnover %d, middle %.1f\n", total, b.turnover, b.middle)
}
