// sensoragg - calibrates the readings of a sensor field and aggregates them
// per station.
//
// The acquisition delivers readings, calibrators convert them to physical
// units, and the station table receives the samples.
//
// usage: sensoragg THREADS
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

const (
	stations = 400
	readings = 600000
)

type reading struct {
	station uint16
	channel uint8
	seq     uint32
	raw     int32
}

type sample struct {
	station uint16
	milli   int64
	suspect bool
}

type calibration struct {
	offset int64
	gain   int64
	quad   int64
}

type stationStats struct {
	count   int
	suspect int
	sum     int64
	min     int64
	max     int64
}

func hash32(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	x ^= x >> 16
	return x
}

func loadCalibrations() []calibration {
	table := make([]calibration, stations)
	for i := range table {
		h := hash32(uint32(i) + 1)
		table[i] = calibration{
			offset: int64(h%200) - 100,
			gain:   900 + int64((h>>8)%200),
			quad:   int64((h>>16)%7) - 3,
		}
	}
	return table
}

// acquire delivers all readings in the order of their sequence numbers.
func acquire(out chan<- reading) {
	for seq := uint32(0); seq < readings; seq++ {
		h := hash32(seq * 2654435761)
		out <- reading{
			station: uint16(h % stations),
			channel: uint8(seq & 3),
			seq:     seq,
			raw:     int32((h >> 9) & 0x3fff),
		}
	}
	close(out)
}

func convert(r reading, c calibration) sample {
	x := int64(r.raw) + c.offset
	milli := x*c.gain + x*x*c.quad/4096
	if r.channel == 3 {
		milli -= milli / 64
	}
	return sample{
		station: r.station,
		milli:   milli,
		suspect: r.raw < 16 || r.raw > 0x3ff0,
	}
}

func calibrate(in <-chan reading, out chan<- sample, table []calibration) {
	for r := range in {
		out <- convert(r, table[r.station])
	}
}

func (s *stationStats) add(x sample) {
	if s.count == 0 || x.milli < s.min {
		s.min = x.milli
	}
	if s.count == 0 || x.milli > s.max {
		s.max = x.milli
	}
	s.count++
	s.sum += x.milli
	if x.suspect {
		s.suspect++
	}
}

func collect(in <-chan sample) []stationStats {
	table := make([]stationStats, stations)
	for x := range in {
		table[x.station].add(x)
	}
	return table
}

func main() {
	threads := 1
	if len(os.Args) > 1 {
		if n, err := strconv.Atoi(os.Args[1]); err == nil && n > 0 {
			threads = n
		}
	}
	calibrations := loadCalibrations()
	raw := make(chan reading)
	samples := make(chan sample)

	var calibrators sync.WaitGroup
	for i := 0; i < threads; i++ {
		calibrators.Add(1)
		go func() {
			defer calibrators.Done()
			calibrate(raw, samples, calibrations)
		}()
	}
	go acquire(raw)
	go func() {
		calibrators.Wait()
		close(samples)
	}()
	table := collect(samples)

	var count, suspect int
	var sum, spread int64
	for i := range table {
		s := &table[i]
		count += s.count
		suspect += s.suspect
		sum += s.sum
		spread += s.max - s.min
	}
	fmt.Printf("stations %d samples %d suspect %d sum %d spread %d\n",
		len(table), count, suspect, sum, spread)
}
