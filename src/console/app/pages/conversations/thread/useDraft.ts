import { Schema } from "effect"
import { useCallback, useEffect, useState } from "react"
import { ResponseId } from "../../../../../domain/Ids.ts"
import { tabStorage } from "../../../client/tabStorage.ts"
import type { Draft } from "./draft.ts"
import { noQuestion, questionOfInput } from "./question.ts"

const Kept = Schema.Struct({
  text: Schema.String,
  attachments: Schema.Array(Schema.Record(Schema.String, Schema.String)),
  replaces: Schema.optional(ResponseId),
  again: Schema.optional(ResponseId)
})

const kept = tabStorage("parley.draft.", Schema.Struct({ now: Kept, before: Schema.NullOr(Kept) }))

interface Drafts {
  readonly now: Draft
  /** The draft before an edit; null if there was none. */
  readonly before: Draft | null
}

const draftIn = ({ attachments, text, ...rest }: typeof Kept.Type): Draft => ({
  ...rest,
  text,
  // Only what may be sent is taken.
  attachments: questionOfInput(attachments.map((part) => ({ type: "", ...part }))).attachments
})

const read = (id: string): Drafts => {
  const found = kept.read(id)
  if (found === null) return { now: noQuestion, before: null }
  return { now: draftIn(found.now), before: found.before === null ? null : draftIn(found.before) }
}

const isEmpty = ({ again, attachments, replaces, text }: Draft): boolean =>
  text === "" && attachments.length === 0 && replaces === undefined && again === undefined

const keep = (id: string, drafts: Drafts): void =>
  isEmpty(drafts.now) && drafts.before === null ? kept.drop(id) : kept.keep(id, drafts)

const isEdit = ({ again, replaces }: Draft): boolean => replaces !== undefined || again !== undefined

/**
 * The draft of a conversation. The browser's tab keeps it, also while other conversations are open, and while
 * a message is edited.
 */
export const useDraft = (id: string) => {
  const [drafts, setDrafts] = useState(() => read(id))
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
  const clear = useCallback(
    () => setDrafts(({ before }) => ({ now: before ?? noQuestion, before: null })),
    []
  )
  return { draft: drafts.now, change, edit, clear }
}
