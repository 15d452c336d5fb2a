// Counts the points of a sample that lie in a body, with progress figures.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

const points = 100_000_000

// Shape tells whether a point belongs to it.
type Shape interface {
	Contains(x, y, z int32) bool
}

type Ball struct {
	Radius int32
}

func (b Ball) Contains(x, y, z int32) bool {
	return x*x+y*y+z*z <= b.Radius*b.Radius
}

type Shell struct {
	Inner, Outer int32
}

func (s Shell) Contains(x, y, z int32) bool {
	d := x*x + y*y + z*z
	return d >= s.Inner*s.Inner && d <= s.Outer*s.Outer
}

// Survey is what the workers are busy with.
type Survey[S Shape] struct {
	shape  S
	tested int64
	inside int64
}

func (s *Survey[S]) scan(seed uint64, n int) {
	for i := 0; i < n; i++ {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		x := int32(seed&2047) - 1024
		y := int32(seed>>11&2047) - 1024
		z := int32(seed>>22&2047) - 1024
		atomic.AddInt64(&s.tested, 1)
		if s.shape.Contains(x, y, z) {
			atomic.AddInt64(&s.inside, 1)
		}
	}
}

func (s *Survey[S]) progress() float64 {
	return float64(atomic.LoadInt64(&s.tested)) / points
}

func (s *Survey[S]) volume() float64 {
	return float64(s.inside) / float64(s.tested) * 8
}

func survey[S Shape](shape S, n, workers int) *Survey[S] {
	s := &Survey[S]{shape: shape}
	var wg sync.WaitGroup
	for w := 0; w < workers; w++ {
		wg.Add(1)
		go func(seed uint64) {
			defer wg.Done()
			s.scan(seed, n/workers)
		}(uint64(w)*0x9E3779B97F4A7C15 + 88172645463325252)
	}
	wg.Wait()
	return s
}

func main() {
	workers, err := strconv.Atoi(os.Args[1])
	if err != nil || workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: lattice WORKERS")
		os.Exit(2)
	}
	ball := survey(Ball{Radius: 1024}, points/2, workers)
	shell := survey(Shell{Inner: 512, Outer: 1024}, points/2, workers)
	fmt.Printf("ball %.3f shell %.3f (%.0f%%)\n", ball.volume(), shell.volume(),
		100*(ball.progress()+shell.progress()))
}
