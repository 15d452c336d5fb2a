package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

type inquiry struct {
	symbol uint32
	size   uint32
	answer chan uint64
}

type desk struct {
	inquiries chan inquiry
	base      [256]uint64
}

func newDesk() *desk {
	d := &desk{inquiries: make(chan inquiry)}
	for i := range d.base {
		d.base[i] = uint64(1000 + i*7)
	}
	return d
}

func (d *desk) run() {
	for q := range d.inquiries {
		q.answer <- d.base[q.symbol&255]*uint64(q.size) + uint64(q.symbol)
	}
}

//go:noinline
func (d *desk) ask(symbol, size uint32, answer chan uint64) uint64 {
	d.inquiries <- inquiry{symbol, size, answer}
	return <-answer
}

func client(d *desk, first, last int64) uint64 {
	answer := make(chan uint64)
	var sum uint64
	for i := first; i < last; i++ {
		sum += d.ask(uint32(i*2654435761>>7), uint32(i&63)+1, answer)
	}
	return sum
}

func main() {
	threads, total := 1, int64(2200000)
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
	d := newDesk()
	go d.run()
	sums := make([]uint64, threads)
	var wg sync.WaitGroup
	for t := 0; t < threads; t++ {
		first := total * int64(t) / int64(threads)
		last := total * int64(t+1) / int64(threads)
		slot := &sums[t]
		wg.Add(1)
		go func() {
			defer wg.Done()
			*slot = client(d, first, last)
		}()
	}
	wg.Wait()
	close(d.inquiries)
	var sum uint64
	for _, s := range sums {
		sum += s
	}
	fmt.Println("inquiries", total, "sum", sum)
}
