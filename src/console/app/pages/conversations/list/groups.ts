import type { ConversationObject } from "../../../../../api/ConversationObject.ts"

/** A row of the list: the heading of a group, or a conversation. */
export type Row =
  | { readonly kind: "heading"; readonly text: string }
  | { readonly kind: "conversation"; readonly conversation: ConversationObject }

const dayMillis = 86_400_000
const recentDays = 7

// Made once: a list has very many rows.
const monthNames = Array.from({ length: 12 }, (_, month) =>
  new Date(2024, month, 1).toLocaleDateString("en-US", { month: "long" })
)

const monthOf = (time: number, now: Date): string => {
  const date = new Date(time)
  const name = monthNames[date.getMonth()] ?? ""
  return date.getFullYear() === now.getFullYear() ? name : `${name} ${date.getFullYear()}`
}

const startOfDay = (date: Date): number =>
  new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()

/**
 * Names times as seen from a moment: Today, Previous 7 days, or March 2025, in the time zone of the browser.
 */
export const makeGroupOf = (nowMillis: number) => {
  const now = new Date(nowMillis)
  const today = startOfDay(now)
  // Noon of the day before is that day, however long it was.
  const yesterday = startOfDay(new Date(today - dayMillis / 2))
  return (time: number): string => {
    if (time >= today) return "Today"
    if (time >= yesterday) return "Yesterday"
    if (time >= today - recentDays * dayMillis) return "Previous 7 days"
    return monthOf(time, now)
  }
}

/** The conversations, which are in the order of their last use, with a heading above each group. */
export const rowsOf = (
  conversations: ReadonlyArray<ConversationObject>,
  nowMillis: number
): ReadonlyArray<Row> => {
  const groupOf = makeGroupOf(nowMillis)
  let last = ""
  return conversations.flatMap((conversation): ReadonlyArray<Row> => {
    const text = groupOf(conversation.updated_at)
    const row: Row = { kind: "conversation", conversation }
    if (text === last) return [row]
    last = text
    return [{ kind: "heading", text }, row]
  })
}
