package fleet

import "context"

// RehearseOnce is Rehearse for a shape that an earlier report may have rehearsed on the same server.
func (s *Server) RehearseOnce(ctx context.Context, shape Shape, kept Kept) (Capacity, error) {
	key := s.key(&shape)
	if c, isKept := kept.Get(key); isKept {
		return c, nil
	}
	c, err := s.Rehearse(ctx, shape)
	if err != nil {
		return c, err
	}
	return c, kept.Put(key, c)
}
