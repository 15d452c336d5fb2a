// Makes the monthly invoices: every worker gets an equal share of the customers,
// prices their usage records and checks the sum.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
)

const customers = 1600

type customer struct {
	id      int
	records int
}

type invoice struct {
	customer int
	cents    int64
	seal     [32]byte
}

// loadCustomers gives the customers ordered by their contract number; the
// business contracts have the lowest ones.
func loadCustomers() []customer {
	list := make([]customer, customers)
	for i := range list {
		c := customer{id: i, records: 400 + i*37%300}
		switch {
		case i < 60:
			c.records = 150000 + i*1013%9000
		case i < 300:
			c.records = 6000 + i*71%900
		}
		list[i] = c
	}
	sort.Slice(list, func(a, b int) bool { return list[a].id < list[b].id })
	return list
}

func price(units, hour uint32) int64 {
	rate := int64(12)
	if hour >= 20 || hour < 6 {
		rate = 7
	}
	if units > 900 {
		return int64(units)*rate - int64(units-900)*2
	}
	return int64(units) * rate
}

func (c customer) bill() invoice {
	inv := invoice{customer: c.id}
	h := uint32(c.id)*747796405 + 1
	var block [64]byte
	for r := 0; r < c.records; r++ {
		h = h*1664525 + 1013904223
		inv.cents += price(h>>22, h>>8%24)
		binary.LittleEndian.PutUint64(block[:], uint64(inv.cents))
		copy(block[8:], inv.seal[:])
		inv.seal = sha256.Sum256(block[:40])
	}
	return inv
}

func billAll(list []customer, out []invoice) {
	for i, c := range list {
		out[i] = c.bill()
	}
}

func main() {
	workers, err := strconv.Atoi(os.Args[1])
	if err != nil || workers < 1 {
		os.Exit(2)
	}
	list := loadCustomers()
	invoices := make([]invoice, len(list))
	share := (len(list) + workers - 1) / workers
	var wg sync.WaitGroup
	for first := 0; first < len(list); first += share {
		last := min(first+share, len(list))
		wg.Add(1)
		go func() {
			defer wg.Done()
			billAll(list[first:last], invoices[first:last])
		}()
	}
	wg.Wait()
	var sum int64
	var seal byte
	for _, inv := range invoices {
		sum += inv.cents
		seal ^= inv.seal[0]
	}
	fmt.Printf("%d invoices, %d cents, seal %02x\n", len(invoices), sum, seal)
}
