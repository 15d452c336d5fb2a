package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	frameCount    = 4000
	samplesPer    = 256
	decodeRounds  = 24
	calibRounds   = 200
	archiveRounds = 24
)

type frame struct {
	id      uint64
	samples [samplesPer]uint64
	drift   uint64
}

func hashStep(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 30
	return x
}

func decodeFrames(next *atomic.Int64, out chan<- *frame, wg *sync.WaitGroup) {
	defer wg.Done()
	for {
		id := next.Add(1)
		if id > frameCount {
			return
		}
		f := &frame{id: uint64(id)}
		acc := uint64(id)
		for r := 0; r < decodeRounds; r++ {
			for i := range f.samples {
				acc = hashStep(acc + uint64(i))
				f.samples[i] ^= acc
			}
		}
		out <- f
	}
}

func calibrateFrames(in <-chan *frame, out chan<- *frame) {
	var offset uint64 = 1
	for f := range in {
		acc := offset
		for r := 0; r < calibRounds; r++ {
			for i := range f.samples {
				acc = hashStep(acc + f.samples[i])
			}
		}
		f.drift = acc
		offset = acc>>40 + 1
		out <- f
	}
	close(out)
}

func archiveFrames(in <-chan *frame, stored, digest *atomic.Uint64, wg *sync.WaitGroup) {
	defer wg.Done()
	for f := range in {
		acc := f.drift
		for r := 0; r < archiveRounds; r++ {
			for i := range f.samples {
				acc = hashStep(acc ^ f.samples[i])
			}
		}
		stored.Add(1)
		digest.Add(acc)
	}
}

func main() {
	lanes := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			lanes = v
		}
	}
	runtime.GOMAXPROCS(lanes)

	decoded := make(chan *frame, 16)
	calibrated := make(chan *frame, 16)
	var next atomic.Int64
	var stored, digest atomic.Uint64
	var decoders, archivers sync.WaitGroup

	decoders.Add(lanes)
	archivers.Add(lanes)
	for l := 0; l < lanes; l++ {
		go decodeFrames(&next, decoded, &decoders)
		go archiveFrames(calibrated, &stored, &digest, &archivers)
	}
	go calibrateFrames(decoded, calibrated)

	decoders.Wait()
	close(decoded)
	archivers.Wait()
	fmt.Printf("frames %d digest %x\n", stored.Load(), digest.Load())
}
