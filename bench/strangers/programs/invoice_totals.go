package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const (
	invoiceCount  = 250000
	linesPer      = 150
	auditSteps    = 800
	customerCount = 2000
)

type invoiceTotal struct {
	customer uint32
	amount   uint64
}

type statement struct {
	invoices int
	amount   uint64
	seal     uint64
}

func remix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	return x
}

func sumInvoice(number int) invoiceTotal {
	acc := uint64(number) + 3
	for line := 0; line < linesPer; line++ {
		acc = remix(acc + uint64(line))
	}
	return invoiceTotal{customer: uint32(acc>>32) % customerCount, amount: acc & 0xffff}
}

func billingClerk(first, step int, totals chan<- invoiceTotal, wg *sync.WaitGroup) {
	defer wg.Done()
	for number := first; number < invoiceCount; number += step {
		totals <- sumInvoice(number)
	}
}

func postStatement(book map[uint32]*statement, t invoiceTotal) {
	s := book[t.customer]
	if s == nil {
		s = &statement{}
		book[t.customer] = s
	}
	s.invoices++
	s.amount += t.amount
	seal := s.seal + t.amount
	for i := 0; i < auditSteps; i++ {
		seal = remix(seal + uint64(i))
	}
	s.seal = seal
}

func tallyStatements(totals <-chan invoiceTotal, finished <-chan struct{}) map[uint32]*statement {
	book := make(map[uint32]*statement, customerCount)
	for {
		select {
		case t := <-totals:
			postStatement(book, t)
		case <-finished:
			for {
				select {
				case t := <-totals:
					postStatement(book, t)
				default:
					return book
				}
			}
		}
	}
}

func main() {
	clerks := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			clerks = v
		}
	}
	runtime.GOMAXPROCS(clerks)

	totals := make(chan invoiceTotal, 128)
	finished := make(chan struct{})
	var wg sync.WaitGroup
	for c := 0; c < clerks; c++ {
		wg.Add(1)
		go billingClerk(c, clerks, totals, &wg)
	}
	go func() {
		wg.Wait()
		close(finished)
	}()

	book := tallyStatements(totals, finished)
	var invoices int
	var amount, seals uint64
	for _, s := range book {
		invoices += s.invoices
		amount += s.amount
		seals ^= s.seal
	}
	fmt.Printf("customers %d invoices %d amount %d seals %x\n", len(book), invoices, amount, seals)
}
