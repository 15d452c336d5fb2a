// Goroutines count in one map behind a sync.Mutex. cache THREADS
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

type cache struct {
	mu     sync.Mutex
	counts map[uint64]int
}

//go:noinline
func (c *cache) touch(key uint64) {
	c.mu.Lock()
	c.counts[key%1000]++
	c.mu.Unlock()
}

func main() {
	threads, err := strconv.Atoi(os.Args[1])
	if err != nil || threads < 1 {
		fmt.Fprintln(os.Stderr, "usage: cache THREADS")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(threads)
	shared := &cache{counts: map[uint64]int{}}
	var done sync.WaitGroup
	for i := range threads {
		done.Add(1)
		go func() {
			defer done.Done()
			x := uint64(i + 1)
			for range 12_000_000 / threads {
				x = x*6364136223846793005 + 1
				shared.touch(x >> 40)
			}
		}()
	}
	done.Wait()
}
