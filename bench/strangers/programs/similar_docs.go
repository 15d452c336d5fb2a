package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const dims = 128

func loadVectors(n int) [][]float32 {
	vecs := make([][]float32, n)
	x := uint32(2463534242)
	for i := range vecs {
		v := make([]float32, dims)
		for d := range v {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			v[d] = float32(x>>8)/16777216 - 0.5
		}
		vecs[i] = v
	}
	return vecs
}

//go:noinline
func dot(a, b []float32) float32 {
	var sum float32
	for d := 0; d < len(a) && d < len(b); d++ {
		sum += a[d] * b[d]
	}
	return sum
}

//go:noinline
func compareRows(vecs [][]float32, first, last int) int {
	similar := 0
	for i := first; i < last; i++ {
		for j := 0; j < i; j++ {
			if dot(vecs[i], vecs[j]) > 2.5 {
				similar++
			}
		}
	}
	return similar
}

func main() {
	threads, n := 1, 3000
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			threads = v
		}
	}
	if len(os.Args) > 2 {
		if v, err := strconv.Atoi(os.Args[2]); err == nil && v > 0 {
			n = v
		}
	}
	runtime.GOMAXPROCS(threads)
	vecs := loadVectors(n)
	found := make([]int, threads)
	var wg sync.WaitGroup
	for t := 0; t < threads; t++ {
		first, last := n*t/threads, n*(t+1)/threads
		slot := &found[t]
		wg.Add(1)
		go func() {
			defer wg.Done()
			*slot = compareRows(vecs, first, last)
		}()
	}
	wg.Wait()
	similar := 0
	for _, f := range found {
		similar += f
	}
	fmt.Println("documents", n, "similar pairs", similar)
}
