package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const (
	bookingTotal = 24000000
	sectionCount = 64
)

type venue struct {
	sync.Mutex
	taken [sectionCount]uint32
	last  uint32
}

func (v *venue) reserve(section uint32) uint32 {
	v.Lock()
	v.taken[section]++
	v.last = section
	seat := v.taken[section]
	v.Unlock()
	return seat
}

func nextSection(state uint64) uint64 {
	state ^= state << 13
	state ^= state >> 7
	state ^= state << 17
	return state
}

func boxOffice(v *venue, seed uint64, bookings int) uint64 {
	var numbers uint64
	state := seed*2 + 1
	for b := 0; b < bookings; b++ {
		state = nextSection(state)
		numbers += uint64(v.reserve(uint32(state>>32) % sectionCount))
	}
	return numbers
}

func main() {
	offices := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			offices = v
		}
	}
	runtime.GOMAXPROCS(offices)

	hall := &venue{}
	sums := make(chan uint64, offices)
	for o := 0; o < offices; o++ {
		share := bookingTotal*(o+1)/offices - bookingTotal*o/offices
		go func(id, bookings int) {
			sums <- boxOffice(hall, uint64(id)+5, bookings)
		}(o, share)
	}
	var numbers uint64
	for o := 0; o < offices; o++ {
		numbers += <-sums
	}
	var booked uint64
	for _, t := range hall.taken {
		booked += uint64(t)
	}
	fmt.Printf("booked %d checksum %x\n", booked, numbers)
}
