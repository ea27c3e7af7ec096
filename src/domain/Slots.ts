/**
 * What comes and goes with each request, without an order. In a long-lived Set or Map, V8 keeps what has been deleted: a table that
 * was replaced refers to its successor, so that the first one that is old keeps all later ones, and all that was in them, from the
 * collections of young objects (docs/decisions/young-objects.md). A slot that is left refers to nothing.
 */
export class Slots<A extends object> {
  private readonly items: Array<A | null> = []
  private readonly free: Array<number> = []

  /** Returns the slot of the item. */
  add(item: A): number {
    const slot = this.free.pop() ?? this.items.length
    this.items[slot] = item
    return slot
  }

  /** Without effect where the slot has another item by now, or none. */
  remove(slot: number, item: A): void {
    if (this.items[slot] !== item) return
    this.items[slot] = null
    this.free.push(slot)
  }

  /** Items may be added and removed meanwhile. */
  *[Symbol.iterator](): Generator<A> {
    for (const item of this.items) if (item !== null) yield item
  }
}
