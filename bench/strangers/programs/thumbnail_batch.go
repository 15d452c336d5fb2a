package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const (
	photoCount = 1800
	side       = 128
)

type canvas struct {
	pixels  []uint16
	scratch []uint16
}

func newCanvas() *canvas {
	return &canvas{
		pixels:  make([]uint16, side*side),
		scratch: make([]uint16, side*side),
	}
}

func grain(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 32
	return x
}

func (c *canvas) load(photo int) {
	state := uint64(photo) + 11
	for i := range c.pixels {
		state = grain(state + uint64(i))
		c.pixels[i] = uint16(state >> 48)
	}
	copy(c.scratch, c.pixels)
}

func (c *canvas) soften() {
	for y := 1; y < side-1; y++ {
		for x := 1; x < side-1; x++ {
			sum := uint32(0)
			for dy := -1; dy <= 1; dy++ {
				at := (y+dy)*side + x
				sum += uint32(c.pixels[at-1]) + uint32(c.pixels[at]) + uint32(c.pixels[at+1])
			}
			c.scratch[y*side+x] = uint16(sum / 9)
		}
	}
	c.pixels, c.scratch = c.scratch, c.pixels
}

func (c *canvas) digest() uint64 {
	var d uint64
	for i := 0; i < len(c.pixels); i += 16 {
		d = grain(d + uint64(c.pixels[i]))
	}
	return d
}

func renderThumbnails(photos <-chan int, album *sync.Map, wg *sync.WaitGroup) {
	defer wg.Done()
	sheet := newCanvas()
	for photo := range photos {
		sheet.load(photo)
		sheet.soften()
		sheet.soften()
		sheet.soften()
		album.Store(photo, sheet.digest())
	}
}

func main() {
	renderers := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			renderers = v
		}
	}
	runtime.GOMAXPROCS(renderers)

	photos := make(chan int, 64)
	var album sync.Map
	var wg sync.WaitGroup
	for r := 0; r < renderers; r++ {
		wg.Add(1)
		go renderThumbnails(photos, &album, &wg)
	}
	for photo := 0; photo < photoCount; photo++ {
		photos <- photo
	}
	close(photos)
	wg.Wait()

	count := 0
	var sum uint64
	album.Range(func(_, value any) bool {
		count++
		sum += value.(uint64)
		return true
	})
	fmt.Printf("thumbnails %d digest %x\n", count, sum)
}
