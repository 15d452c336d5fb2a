package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	chunk = 20000
	steps = 16
)

//go:noinline
func simulate(first, last int64) float64 {
	x := uint64(first)*0x9e3779b97f4a7c15 + 88172645463325252
	sum := 0.0
	for p := first; p < last; p++ {
		walk := 0.0
		for s := 0; s < steps; s++ {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			walk += float64(int64(x>>12))*(1.0/4503599627370496.0) - 0.5
		}
		price := 100 * math.Exp(0.18*walk)
		if price > 105 {
			sum += price - 105
		}
	}
	return sum
}

func main() {
	threads, total := 1, int64(9000000)
	if len(os.Args) > 1 {
		if n, err := strconv.Atoi(os.Args[1]); err == nil && n > 0 {
			threads = n
		}
	}
	if len(os.Args) > 2 {
		if n, err := strconv.ParseInt(os.Args[2], 10, 64); err == nil {
			total = n
		}
	}
	runtime.GOMAXPROCS(threads)
	var next atomic.Int64
	parts := make(chan float64, threads)
	var wg sync.WaitGroup
	for t := 0; t < threads; t++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			sum := 0.0
			for {
				first := next.Add(chunk) - chunk
				if first >= total {
					break
				}
				last := first + chunk
				if last > total {
					last = total
				}
				sum += simulate(first, last)
			}
			parts <- sum
		}()
	}
	wg.Wait()
	close(parts)
	sum := 0.0
	for p := range parts {
		sum += p
	}
	fmt.Printf("value %.4f\n", sum/float64(total))
}
