// Builds an index of words over generated articles: readers cut the articles
// into words, the indexer enters them.
package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

const articles = 36000

var stems = []string{"run", "light", "house", "water", "stone", "bridge", "paper", "wind",
	"field", "glass", "iron", "river", "tower", "cloud", "silver", "garden"}
var endings = []string{"", "s", "ing", "ed", "er", "less", "ful", "y"}

type article struct {
	id    int
	words []string
}

type posting struct {
	count int
	last  int
	sign  uint64
}

type index struct {
	entries map[string]*posting
	bigrams map[string]int
	total   int
}

func compose(id int) string {
	var b strings.Builder
	h := uint32(id)*2654435761 + 1
	for i := 0; i < 150; i++ {
		h = h*1664525 + 1013904223
		b.WriteString(stems[h>>28])
		b.WriteString(endings[h>>20&7])
		b.WriteByte(' ')
	}
	return b.String()
}

func read(first, last int, out chan<- article) {
	for id := first; id < last; id++ {
		out <- article{id, strings.Fields(compose(id))}
	}
}

func newIndex() *index {
	return &index{entries: map[string]*posting{}, bigrams: map[string]int{}}
}

func (x *index) enter(a article) {
	previous := ""
	for _, w := range a.words {
		p := x.entries[w]
		if p == nil {
			p = &posting{last: -1}
			x.entries[w] = p
		}
		p.count++
		p.last = a.id
		h := fnv.New64a()
		h.Write([]byte(w))
		h.Write([]byte(strconv.Itoa(a.id)))
		p.sign ^= h.Sum64()
		x.bigrams[previous+" "+w]++
		previous = w
		x.total++
	}
}

func (x *index) top(n int) []string {
	words := make([]string, 0, len(x.entries))
	for w := range x.entries {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool {
		a, b := x.entries[words[i]].count, x.entries[words[j]].count
		return a > b || a == b && words[i] < words[j]
	})
	return words[:n]
}

func main() {
	readers, err := strconv.Atoi(os.Args[1])
	if err != nil || readers < 1 {
		os.Exit(2)
	}
	feed := make(chan article)
	var wg sync.WaitGroup
	for r := 0; r < readers; r++ {
		wg.Add(1)
		go func(first, last int) {
			defer wg.Done()
			read(first, last, feed)
		}(articles*r/readers, articles*(r+1)/readers)
	}
	done := make(chan *index)
	go func() {
		x := newIndex()
		for a := range feed {
			x.enter(a)
		}
		done <- x
	}()
	wg.Wait()
	close(feed)
	x := <-done
	fmt.Println(x.total, "words,", len(x.bigrams), "pairs, top:", x.top(3))
}
