// Threads that share one lock: `contended THREADS ROUNDS`.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var (
	mutex sync.Mutex
	total uint64
)

//go:noinline
func addSlowly(seed uint64) {
	mutex.Lock()
	value := seed
	for i := 0; i < 20000; i++ {
		value = value*6364136223846793005 + 1442695040888963407
	}
	total += value
	mutex.Unlock()
}

//go:noinline
func readSlowly(pipe int) {
	buffer := make([]byte, 1)
	for {
		if n, err := syscall.Read(pipe, buffer); n <= 0 && err != syscall.EINTR {
			return
		}
	}
}

//go:noinline
func ticks(stop chan struct{}) {
	ticker := time.NewTicker(5 * time.Millisecond)
	for {
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
}

//go:noinline
func takesInTime(work chan int) {
	select {
	case <-work:
	case <-time.After(time.Hour):
	}
}

func worker(rounds int, done *sync.WaitGroup) {
	defer done.Done()
	for round := 0; round < rounds; round++ {
		addSlowly(uint64(round))
	}
}

func main() {
	threads, _ := strconv.Atoi(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[2])
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	var done sync.WaitGroup
	for i := 0; i < threads; i++ {
		done.Add(1)
		go worker(rounds, &done)
	}
	go readSlowly(pipe[0])
	go ticks(make(chan struct{}))
	go takesInTime(make(chan int))
	done.Wait()
	syscall.Close(pipe[1])
	fmt.Println(total)
}
