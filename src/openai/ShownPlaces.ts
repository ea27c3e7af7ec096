/** The place of each shown item, by the place that the core gave it. */
export const makePlaces = () => {
  const places = new Map<number, number>()
  const place = (index: number): number => places.get(index) ?? places.size
  return {
    has: (index: number): boolean => places.has(index),
    place,
    /** That of an item that begins. */
    take: (index: number): number => {
      const taken = place(index)
      places.set(index, taken)
      return taken
    }
  }
}
