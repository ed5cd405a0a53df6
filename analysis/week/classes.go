package week

// compareClasses fills the growth of each class, over the hours that both weeks cover. The rest of the classes is whatever this week's table does
// not name, in both weeks.
func compareClasses(classes []Class, this, last weekOf) {
	now, before := map[string]int64{}, map[string]int64{}
	counts, lastCounts := this.classesByStart(), last.classesByStart()
	hours := byClock(last.hours)
	for at, hour := range byClock(this.hours) {
		other := hours[at]
		if other == nil || hour.IsMissing || other.IsMissing {
			continue
		}
		add(now, counts[hour.Start.Unix()])
		add(before, lastCounts[other.Start.Unix()])
	}
	for _, week := range []map[string]int64{now, before} {
		fold(week, classes)
	}
	for i, c := range classes {
		if was := before[c.Name]; was > 0 {
			classes[i].Growth = new(float64(now[c.Name])/float64(was) - 1)
		}
	}
}

// classesByStart are the requests of each class by the start of the hour.
func (w weekOf) classesByStart() map[int64]map[string]int64 {
	all := map[int64]map[string]int64{}
	for _, h := range w.demand.Hours {
		if h.Place < len(w.hours) {
			all[w.hours[h.Place].Start.Unix()] = h.Classes
		}
	}
	return all
}

func add(into, counts map[string]int64) {
	for class, n := range counts {
		into[class] += n
	}
}

// fold adds up the classes that the table does not name, where it has a row for them.
func fold(counts map[string]int64, classes []Class) {
	if len(classes) <= mostClasses {
		return
	}
	isNamed := map[string]bool{}
	for _, c := range classes[:mostClasses] {
		isNamed[c.Name] = true
	}
	rest := int64(0)
	for class, n := range counts {
		if !isNamed[class] {
			rest += n
		}
	}
	counts[restClasses] = rest
}
