package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

type node struct {
	name     string
	attrs    map[string]string
	text     []byte
	children []*node
}

type shelf struct {
	docs []*node
	pos  int
}

func (s *shelf) put(n *node) {
	s.docs[s.pos] = n
	s.pos = (s.pos + 1) % len(s.docs)
}

var tags = []string{"article", "section", "para", "quote", "link", "image", "list", "item"}

//go:noinline
func parseNode(x *uint64, depth int) *node {
	*x = *x*6364136223846793005 + 1442695040888963407
	r := *x >> 33
	n := &node{name: tags[r&7]}
	if r&48 == 0 {
		n.attrs = map[string]string{"id": strconv.Itoa(int(r & 0xffff))}
	}
	n.text = append(n.text, n.name...)
	n.text = strconv.AppendUint(n.text, r, 10)
	if depth > 0 {
		for i := 0; i < 3; i++ {
			n.children = append(n.children, parseNode(x, depth-1))
		}
	}
	return n
}

func measure(n *node) int {
	size := len(n.text) + len(n.attrs)
	for _, c := range n.children {
		size += measure(c)
	}
	return size
}

func parseAll(first, last int64, keep int) int {
	s := &shelf{docs: make([]*node, keep)}
	total := 0
	for i := first; i < last; i++ {
		x := uint64(i)*0x9e3779b97f4a7c15 + 1
		doc := parseNode(&x, 3)
		total += measure(doc)
		s.put(doc)
	}
	return total
}

func main() {
	threads, total := 1, int64(100000)
	if len(os.Args) > 1 {
		if n, err := strconv.Atoi(os.Args[1]); err == nil && n > 0 {
			threads = n
		}
	}
	if len(os.Args) > 2 {
		if n, err := strconv.ParseInt(os.Args[2], 10, 64); err == nil {
			total = n
		}
	}
	sizes := make([]int, threads)
	var wg sync.WaitGroup
	for t := 0; t < threads; t++ {
		first := total * int64(t) / int64(threads)
		last := total * int64(t+1) / int64(threads)
		slot := &sizes[t]
		wg.Add(1)
		go func() {
			defer wg.Done()
			*slot = parseAll(first, last, 4096/threads+1)
		}()
	}
	wg.Wait()
	size := 0
	for _, s := range sizes {
		size += s
	}
	fmt.Println("documents", total, "size", size)
}
