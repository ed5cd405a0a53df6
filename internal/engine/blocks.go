package engine

import "slices"

// blockPool is the paged KV cache, as in vLLM's V1 engine: blocks with
// reference counts, a free list in order of last use, and an index of full
// blocks by the hash of the whole prefix up to their end. A free block keeps
// its content and can be taken again by its hash, until it is the least
// recently used one and its space is needed.
//
// Until a block's content is remembered for the first time, one free block is as
// good as another: the pool is then a stack of numbers, which costs a tenth.
// Traces that tell lengths alone never leave it.
type blockPool struct {
	size   int
	blank  []int32 // the free blocks, while blocks is nil
	blocks []block
	head   int32 // of the free list: least recently used
	tail   int32
	free   int
	byHash index // first of the blocks with that hash

	// The hash that the last lookup did not find. isStale says that it is there now, or that a block that was found is gone.
	wanted    uint64
	hasWanted bool
	isStale   bool
}

const noBlock = -1

type block struct {
	refs       int32
	prev, next int32 // in the free list, while refs is 0
	hash       uint64
	isCached   bool
	isWatched  bool
	twin       int32 // next block with the same hash
}

func newBlockPool(n int) *blockPool {
	p := &blockPool{size: n}
	p.empty()
	return p
}

// empty makes all blocks free and blank.
func (p *blockPool) empty() {
	*p = blockPool{size: p.size, blank: make([]int32, p.size), free: p.size, isStale: true}
	for i := range p.blank {
		p.blank[i] = int32(p.size - 1 - i)
	}
}

// link ends the stack: from now on blocks have contents, references and an order of last use.
func (p *blockPool) link() {
	blank := p.blank
	p.blocks, p.blank, p.head, p.tail, p.free = make([]block, p.size), nil, noBlock, noBlock, 0
	for i := range p.blocks {
		p.blocks[i].twin, p.blocks[i].refs = noBlock, 1
	}
	for _, i := range slices.Backward(blank) {
		p.blocks[i].refs = 0
		p.pushFree(i)
	}
}

// pushFree puts a block at the recently used end of the free list. The list is
// linked through the blocks themselves, so that a block in its middle can be
// taken by its hash in constant time.
func (p *blockPool) pushFree(i int32) {
	b := &p.blocks[i]
	b.prev, b.next = p.tail, noBlock
	if p.tail == noBlock {
		p.head = i
	} else {
		p.blocks[p.tail].next = i
	}
	p.tail = i
	p.free++
}

func (p *blockPool) dropFree(i int32) {
	b := &p.blocks[i]
	if b.prev == noBlock {
		p.head = b.next
	} else {
		p.blocks[b.prev].next = b.next
	}
	if b.next == noBlock {
		p.tail = b.prev
	} else {
		p.blocks[b.next].prev = b.prev
	}
	p.free--
}

// watch forgets an earlier lookup and notes another: the blocks that were found, and the hash after them.
func (p *blockPool) watch(before, found []int32, next uint64, hasNext bool) {
	if p.blocks != nil { // else a reset has forgotten what was found before
		for _, i := range before {
			p.blocks[i].isWatched = false
		}
	}
	for _, i := range found {
		p.blocks[i].isWatched = true
	}
	p.wanted, p.hasWanted, p.isStale = next, hasNext, false
}

// idle counts the found blocks that no sequence holds. Holding them uses up
// free blocks as well, so admission must count them.
func (p *blockPool) idle(found []int32) int {
	n := 0
	for _, i := range found {
		if p.blocks[i].refs == 0 {
			n++
		}
	}
	return n
}

// hold adds a reference to a block that was found by its hash.
func (p *blockPool) hold(i int32) {
	if p.blocks[i].refs == 0 {
		p.dropFree(i)
	}
	p.blocks[i].refs++
}

// take appends the n least recently used free blocks to the held ones and forgets their content. Long prompts take hundreds at once: they
// are cut off the list together.
func (p *blockPool) take(held []int32, n int) []int32 {
	if p.blocks == nil {
		rest := len(p.blank) - n
		held, p.blank, p.free = append(held, p.blank[rest:]...), p.blank[:rest], rest
		return held
	}
	held = slices.Grow(held, n)
	i := p.head
	for range n {
		b := &p.blocks[i]
		p.forget(i)
		b.refs = 1
		held = append(held, i)
		i = b.next
	}
	p.head = i
	if i == noBlock {
		p.tail = noBlock
	} else {
		p.blocks[i].prev = noBlock
	}
	p.free -= n
	return held
}

// release gives back one reference to each block. The last block goes first, so
// that the end of a sequence is evicted before its start, which other sequences
// are more likely to share.
func (p *blockPool) release(held []int32) {
	if p.blocks == nil {
		p.blank = append(p.blank, held...)
		p.free = len(p.blank)
		return
	}
	for k := len(held) - 1; k >= 0; k-- {
		i := held[k]
		p.blocks[i].refs--
		if p.blocks[i].refs == 0 {
			p.pushFree(i)
		}
	}
}

// remember lets a full block be found by its hash. Two sequences may compute
// the same prefix at the same time; both blocks are then kept, chained as
// twins, so that the prefix survives when one of them is evicted.
func (p *blockPool) remember(i int32, hash uint64) {
	if p.blocks == nil {
		p.link()
	}
	b := &p.blocks[i]
	if b.isCached {
		return
	}
	b.hash, b.isCached, b.twin = hash, true, noBlock
	p.isStale = p.isStale || p.hasWanted && hash == p.wanted
	first, isThere := p.byHash.get(hash)
	if !isThere {
		p.byHash.set(hash, i)
		return
	}
	b.twin = p.blocks[first].twin
	p.blocks[first].twin = i
}

// forget takes a block out of the index, from the middle of its twins if need
// be.
func (p *blockPool) forget(i int32) {
	b := &p.blocks[i]
	if !b.isCached {
		return
	}
	b.isCached = false
	p.isStale = p.isStale || b.isWatched
	if first, _ := p.byHash.get(b.hash); first != i {
		for p.blocks[first].twin != i {
			first = p.blocks[first].twin
		}
		p.blocks[first].twin = b.twin
		return
	}
	if b.twin == noBlock {
		p.byHash.remove(b.hash)
		return
	}
	p.byHash.set(b.hash, b.twin)
}

// reset forgets all cached blocks. Like vLLM it refuses while any block is in
// use.
func (p *blockPool) reset() bool {
	if p.free != p.size {
		return false
	}
	p.empty()
	return true
}
