// Draws a Julia set and writes the histogram of the escape times.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

const (
	width  = 2800
	height = 2200
	limit  = 400
)

type view struct {
	left, top, step float64
	c               complex128
}

type histogram [limit + 1]int

func (h *histogram) merge(o *histogram) {
	for i, n := range o {
		h[i] += n
	}
}

func (h *histogram) mean() float64 {
	sum, n := 0, 0
	for i, k := range h {
		sum += i * k
		n += k
	}
	return float64(sum) / float64(n)
}

func (v view) escape(px, py int) int {
	x := v.left + float64(px)*v.step
	y := v.top + float64(py)*v.step
	cr, ci := real(v.c), imag(v.c)
	for i := 0; i < limit; i++ {
		xx, yy := x*x, y*y
		if xx+yy > 4 {
			return i
		}
		x, y = xx-yy+cr, 2*x*y+ci
	}
	return limit
}

func (v view) row(y int, pixels []uint8, h *histogram) {
	for x := range pixels {
		n := v.escape(x, y)
		pixels[x] = uint8(n * 255 / limit)
		h[n]++
	}
}

type painter struct {
	view  view
	image [][]uint8
	rows  chan int
}

func newPainter(v view) *painter {
	p := &painter{view: v, image: make([][]uint8, height), rows: make(chan int, height)}
	for y := 0; y < height; y++ {
		p.image[y] = make([]uint8, width)
		p.rows <- y
	}
	close(p.rows)
	return p
}

func (p *painter) work() *histogram {
	h := new(histogram)
	for y := range p.rows {
		p.view.row(y, p.image[y], h)
	}
	return h
}

func main() {
	workers, err := strconv.Atoi(os.Args[1])
	if err != nil || workers < 1 {
		os.Exit(2)
	}
	p := newPainter(view{-1.4, -1.1, 0.001, complex(-0.7269, 0.1889)})
	var total histogram
	parts := make([]*histogram, workers)
	var wg sync.WaitGroup
	for w := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			parts[w] = p.work()
		}()
	}
	wg.Wait()
	for _, h := range parts {
		total.merge(h)
	}
	fmt.Printf("mean escape %.3f, inside %d\n", total.mean(), total[limit])
}
