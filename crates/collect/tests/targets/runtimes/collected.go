// Threads that allocate faster than the collector runs beside them: `collected THREADS TREES`.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

type node struct {
	left, right *node
	key         [4]int
}

//go:noinline
func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: grow(depth - 1), right: grow(depth - 1)}
}

func main() {
	threads, _ := strconv.Atoi(os.Args[1])
	trees, _ := strconv.Atoi(os.Args[2])
	kept := grow(18)
	var done sync.WaitGroup
	for i := 0; i < threads; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			for tree := 0; tree < trees; tree++ {
				grow(13)
			}
		}()
	}
	done.Wait()
	fmt.Println(kept.key[0])
}
