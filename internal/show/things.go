package show

import "fmt"

// Things counts in words: "1 request", "2 requests".
func Things[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
