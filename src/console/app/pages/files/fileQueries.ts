import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import type { FileList } from "../../../../api/FileObject.ts"
import type { FileId } from "../../../../domain/Ids.ts"
import { asking } from "../../client/ask.ts"
import { readAgain } from "../../client/queries.ts"

const key = "own-files"
const pageFiles = 50
/** Interval at which a list is read again while texts of its files are being read. */
const readingMillis = 2_000

export const filesQuery = (after?: FileId) =>
  queryOptions<FileList>({
    queryKey: [key, "list", after],
    queryFn: asking((client) =>
      client.ownFiles.list({ query: { limit: pageFiles, ...(after === undefined ? {} : { after }) } })
    ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === "uploaded") === true ? readingMillis : false
  })

export const storageQuery = queryOptions({
  queryKey: [key, "storage"],
  queryFn: asking((client) => client.ownFiles.storage())
})

export const readFilesAgain = () => readAgain({ queryKey: [key] })
