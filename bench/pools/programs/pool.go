// Jobs that each need one of a few upload slots: THREADS SIZE JOBS HELD BUILT.
//
// HELD is what a job does while it has one: sleep, compute, io (write and fsync). BUILT is how the pool is made: channel
// or cond.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

type slot struct{ file *os.File }

type slots interface {
	acquire() *slot
	release(*slot)
}

type channelSlots struct{ free chan *slot }

func (s *channelSlots) acquire() *slot   { return <-s.free }
func (s *channelSlots) release(one *slot) { s.free <- one }

type condSlots struct {
	mu       sync.Mutex
	returned *sync.Cond
	free     []*slot
}

func (s *condSlots) acquire() *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.free) == 0 {
		s.returned.Wait()
	}
	one := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return one
}

func (s *condSlots) release(one *slot) {
	s.mu.Lock()
	s.free = append(s.free, one)
	s.mu.Unlock()
	s.returned.Signal()
}

var sink atomic.Uint64

func compute(micros int) {
	hash := uint64(1)
	for step := 0; step < micros*1500; step++ {
		hash = hash*31 ^ uint64(step)
	}
	sink.Store(hash)
}

func upload(one *slot, held string) {
	switch held {
	case "compute":
		compute(4000)
	case "io":
		one.file.WriteString("a photo\n")
		one.file.Sync()
		time.Sleep(3 * time.Millisecond)
	default:
		time.Sleep(5 * time.Millisecond)
	}
}

func number(at int) int {
	n, err := strconv.Atoi(os.Args[at])
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	threads, size, jobs, held, built := number(1), number(2), number(3), os.Args[4], os.Args[5]
	var all []*slot
	for n := 0; n < size; n++ {
		file, err := os.CreateTemp("", "slot")
		if err != nil {
			panic(err)
		}
		os.Remove(file.Name())
		all = append(all, &slot{file})
	}
	var pool slots
	if built == "channel" {
		free := make(chan *slot, size)
		for _, one := range all {
			free <- one
		}
		pool = &channelSlots{free}
	} else {
		made := &condSlots{free: all}
		made.returned = sync.NewCond(&made.mu)
		pool = made
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	begin := time.Now()
	for n := 0; n < threads; n++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for next.Add(1) <= int64(jobs) {
				one := pool.acquire()
				upload(one, held)
				pool.release(one)
				compute(200)
			}
		}()
	}
	workers.Wait()
	fmt.Printf("%.1f jobs/s\n", float64(jobs)/time.Since(begin).Seconds())
}
