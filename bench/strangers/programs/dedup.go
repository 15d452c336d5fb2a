// dedup - estimates how much a backup would gain from deduplication.
//
// Files are cut into chunks at content-defined places; every chunk is
// identified by its digest in an index shared by the workers.
//
// usage: dedup THREADS
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"sync"
)

const (
	baseSize   = 8 << 20
	fileSize   = 1 << 20
	fileCount  = 220
	minChunk   = 2 << 10
	maxChunk   = 64 << 10
	cutMask    = 1<<13 - 1
	shardCount = 64
)

type digest [sha256.Size]byte

type chunkInfo struct {
	size int
	refs int
}

type indexShard struct {
	mu     sync.Mutex
	chunks map[digest]*chunkInfo
}

type chunkIndex struct {
	shards [shardCount]*indexShard
}

type source struct {
	base []byte
	gear [256]uint64
	pool sync.Pool
}

func newIndex() *chunkIndex {
	ix := &chunkIndex{}
	for i := range ix.shards {
		ix.shards[i] = &indexShard{chunks: make(map[digest]*chunkInfo)}
	}
	return ix
}

func (ix *chunkIndex) add(d digest, size int) {
	s := ix.shards[d[0]%shardCount]
	s.mu.Lock()
	info := s.chunks[d]
	if info == nil {
		info = &chunkInfo{size: size}
		s.chunks[d] = info
	}
	info.refs++
	s.mu.Unlock()
}

func step(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}

func newSource() *source {
	s := &source{base: make([]byte, baseSize)}
	x := uint64(0x9e3779b97f4a7c15)
	for i := 0; i < baseSize; i += 8 {
		x = step(x)
		binary.LittleEndian.PutUint64(s.base[i:], x)
	}
	for i := range s.gear {
		x = step(x)
		s.gear[i] = x
	}
	s.pool.New = func() interface{} {
		buf := make([]byte, fileSize)
		return &buf
	}
	return s
}

// load fills buf with the content of a file: a part of the base image with
// a few edits.
func (s *source) load(file int, buf []byte) {
	start := (file * 37 << 10) % (baseSize - fileSize)
	copy(buf, s.base[start:start+fileSize])
	x := uint64(file)*2654435761 + 1
	for e := 0; e < 12; e++ {
		x = step(x)
		at := int(x % (fileSize - 16))
		binary.LittleEndian.PutUint64(buf[at:], x)
	}
}

// nextCut returns the length of the chunk at the beginning of data.
func (s *source) nextCut(data []byte) int {
	if len(data) <= minChunk {
		return len(data)
	}
	limit := len(data)
	if limit > maxChunk {
		limit = maxChunk
	}
	var h uint64
	for i, b := range data[:limit] {
		h = h<<1 + s.gear[b]
		if i >= minChunk && h>>40&cutMask == 0 {
			return i + 1
		}
	}
	return limit
}

func (s *source) chunkFile(file int, ix *chunkIndex) (chunks int) {
	buf := s.pool.Get().(*[]byte)
	defer s.pool.Put(buf)
	s.load(file, *buf)
	data := *buf
	for len(data) > 0 {
		n := s.nextCut(data)
		ix.add(digest(sha256.Sum256(data[:n])), n)
		data = data[n:]
		chunks++
	}
	return chunks
}

func main() {
	threads := 1
	if len(os.Args) > 1 {
		if n, err := strconv.Atoi(os.Args[1]); err == nil && n > 0 {
			threads = n
		}
	}
	src := newSource()
	ix := newIndex()
	files := make(chan int, 16)
	var mu sync.Mutex
	total := 0

	var workers sync.WaitGroup
	for w := 0; w < threads; w++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for file := range files {
				n := src.chunkFile(file, ix)
				mu.Lock()
				total += n
				mu.Unlock()
			}
		}()
	}
	for f := 0; f < fileCount; f++ {
		files <- f
	}
	close(files)
	workers.Wait()

	unique, stored, widest := 0, 0, 0
	for _, s := range ix.shards {
		for _, info := range s.chunks {
			unique++
			stored += info.size
			if info.refs > widest {
				widest = info.refs
			}
		}
	}
	fmt.Printf("chunks %d unique %d stored %d of %d most-shared %d\n",
		total, unique, stored, fileCount*fileSize, widest)
}
