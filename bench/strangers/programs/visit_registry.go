package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

type visit struct {
	count uint64
	last  uint64
}

type registry struct {
	mu     sync.Mutex
	visits map[uint64]*visit
}

func newRegistry() *registry {
	r := &registry{visits: make(map[uint64]*visit)}
	for id := uint64(0); id < 2048; id++ {
		r.visits[id] = &visit{}
	}
	return r
}

//go:noinline
func (r *registry) record(id, now uint64) uint64 {
	r.mu.Lock()
	v := r.visits[id]
	v.count++
	v.last = now
	n := v.count
	r.mu.Unlock()
	return n
}

func replay(r *registry, first, last int64, seed uint64) uint64 {
	x := seed
	var most uint64
	for i := first; i < last; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		if n := r.record((x>>20)&2047, uint64(i)); n > most {
			most = n
		}
	}
	return most
}

func main() {
	threads, total := 1, int64(16000000)
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
	r := newRegistry()
	var wg sync.WaitGroup
	for t := 0; t < threads; t++ {
		first := total * int64(t) / int64(threads)
		last := total * int64(t+1) / int64(threads)
		seed := 88172645463325252 + uint64(t)
		wg.Add(1)
		go func() {
			defer wg.Done()
			replay(r, first, last, seed)
		}()
	}
	wg.Wait()
	var sum, latest uint64
	for _, v := range r.visits {
		sum += v.count
		if v.last > latest {
			latest = v.last
		}
	}
	fmt.Println("visits", sum, "latest", latest)
}
