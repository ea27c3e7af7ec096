import { useQuery } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"
import { sessionQuery } from "../session/session.ts"
import { showToast } from "../ui/toasts.ts"
import { type Finish, type Upload, UploadList, uploadsMax } from "./UploadList.ts"

const lists = new Map<string, UploadList>()

const listOf = (name: string, finish: Finish | null): UploadList => {
  const known = lists.get(name)
  if (known !== undefined) return known
  const list = new UploadList(name, {
    finish: finish ?? (() => Promise.resolve()),
    keepsDone: finish === null
  })
  lists.set(name, list)
  return list
}

export interface Uploads {
  readonly uploads: ReadonlyArray<Upload>
  readonly list: UploadList
  readonly add: (files: ReadonlyArray<File>) => void
}

/**
 * The uploads of a list, which has one name for the whole application; another user who signs in has other
 * lists. `finish` counts when the list is used first; null where the files wait for something to be done with
 * them, such as to be sent with a message.
 */
export const useUploads = (name: string, finish: Finish | null): Uploads => {
  const { data: session } = useQuery(sessionQuery)
  const list = listOf(`${session?.user?.id ?? ""}-${name}`, finish)
  const add = (files: ReadonlyArray<File>) => {
    const leftOut = list.add(files)
    if (leftOut > 0)
      showToast(
        `${leftOut} files were left out: a list has at most ${uploadsMax}. Clear those that are done.`
      )
  }
  return { uploads: useSyncExternalStore(list.subscribe, list.snapshot), list, add }
}
