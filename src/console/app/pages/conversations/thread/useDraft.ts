import { Option, Schema } from "effect"
import { useCallback, useEffect, useState } from "react"
import { ResponseId } from "../../../../../domain/Ids.ts"
import { type Draft, noDraft } from "./draft.ts"
import { questionOfInput } from "./question.ts"

const Kept = Schema.Struct({
  text: Schema.String,
  attachments: Schema.Array(Schema.Record(Schema.String, Schema.String)),
  replaces: Schema.optionalKey(ResponseId),
  again: Schema.optionalKey(ResponseId)
})

const decode = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ now: Kept, before: Schema.NullOr(Kept) }))
)

interface Drafts {
  readonly now: Draft
  /** What was being written before an edit; null if nothing was. */
  readonly before: Draft | null
}

const draftIn = ({ attachments, text, ...rest }: typeof Kept.Type): Draft => ({
  replaces: undefined,
  ...rest,
  text,
  // Only what may be sent is taken.
  attachments: questionOfInput(attachments.map((part) => ({ type: "", ...part }))).attachments
})

const nameOf = (id: string) => `parley.draft.${id}`

const read = (id: string, first: string): Drafts => {
  const kept = Option.getOrNull(decode(sessionStorage.getItem(nameOf(id)) ?? ""))
  if (kept === null) return { now: { ...noDraft, text: first }, before: null }
  return { now: draftIn(kept.now), before: kept.before === null ? null : draftIn(kept.before) }
}

const isEmpty = ({ again, attachments, replaces, text }: Draft): boolean =>
  text === "" && attachments.length === 0 && replaces === undefined && again === undefined

const keep = (id: string, drafts: Drafts): void => {
  if (isEmpty(drafts.now) && drafts.before === null) return sessionStorage.removeItem(nameOf(id))
  try {
    sessionStorage.setItem(nameOf(id), JSON.stringify(drafts))
  } catch {
    // The storage of the browser is full.
    sessionStorage.removeItem(nameOf(id))
  }
}

const isEdit = ({ again, replaces }: Draft): boolean => replaces !== undefined || again !== undefined

/** What is typed in a conversation. The browser's tab keeps it, also while other conversations are open, and while a message is edited. */
export const useDraft = (id: string, first = "") => {
  const [drafts, setDrafts] = useState(() => read(id, first))
  useEffect(() => keep(id, drafts), [drafts, id])
  const change = useCallback(
    (changes: Partial<Draft>) => setDrafts((all) => ({ ...all, now: { ...all.now, ...changes } })),
    []
  )
  /** Puts a message there, to be changed; what is being written waits. */
  const edit = useCallback(
    (draft: Draft) =>
      setDrafts(({ before, now }) => ({
        now: draft,
        before: isEdit(now) || isEmpty(now) ? before : now
      })),
    []
  )
  /** Empties it, or gives back what waits. */
  const clear = useCallback(() => setDrafts(({ before }) => ({ now: before ?? noDraft, before: null })), [])
  return { draft: drafts.now, change, edit, clear }
}
