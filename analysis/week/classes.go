package week

import "time"

// compareClasses fills the growth of each class, over the hours that both weeks cover. The rest of the classes is whatever this week's table does
// not name, in both weeks.
func compareClasses(classes []Class, this, last weekOf) {
	var named map[string]bool // nil: all are
	if len(classes) > mostClasses {
		named = map[string]bool{}
		for _, c := range classes[:mostClasses] {
			named[c.Name] = true
		}
	}
	now, before := map[string]int64{}, map[string]int64{}
	hours := byClock(last.hours)
	for at, hour := range byClock(this.hours) {
		if other := hours[at]; other != nil && !hour.IsMissing && !other.IsMissing {
			this.addClasses(now, hour.Start, named)
			last.addClasses(before, other.Start, named)
		}
	}
	for i, c := range classes {
		if was := before[c.Name]; was > 0 {
			classes[i].Growth = new(float64(now[c.Name])/float64(was) - 1)
		}
	}
}

// addClasses adds the requests of each class in an hour, those that are not named to the rest.
func (w weekOf) addClasses(into map[string]int64, start time.Time, named map[string]bool) {
	for _, h := range w.demand.Hours {
		if h.Place >= len(w.hours) || !w.hours[h.Place].Start.Equal(start) {
			continue
		}
		for class, n := range h.Classes {
			if named != nil && !named[class] {
				class = restClasses
			}
			into[class] += n
		}
	}
}
