import { DateTime } from "effect"
import type {
  FileTextObject,
  ProjectFileObject,
  ProjectMemberObject,
  ProjectObject,
  ProjectSearchResults
} from "../api/ProjectObject.ts"
import type { UserId } from "../domain/Ids.ts"
import type { CorpusFile, ProjectMember } from "../domain/Project.ts"
import type { FileTextPart } from "../files/FileTexts.ts"
import type { ReadableProject } from "../projects/OwnProjects.ts"
import type { Explained } from "../retrieval/search/Searching.ts"

const millis = DateTime.toEpochMillis

export const projectObject = ({ failed, indexed, pending, ...project }: ReadableProject): ProjectObject => ({
  id: project.id,
  object: "project",
  name: project.name,
  role: project.role,
  members: project.members,
  file_counts: { pending, indexed, failed, total: pending + indexed + failed },
  bytes: project.bytes,
  created_at: millis(project.createdAt)
})

export const memberObject = ({ addedAt, email, role, userId }: ProjectMember): ProjectMemberObject => ({
  id: userId,
  object: "project.member",
  email,
  role,
  added_at: millis(addedAt)
})

export const fileObject =
  (userId: UserId) =>
  (file: CorpusFile): ProjectFileObject => ({
    id: file.fileId,
    object: "project.file",
    filename: file.filename,
    bytes: file.bytes,
    owner: file.owner,
    own: file.ownerId === userId,
    status: file.status,
    status_details: file.statusDetails,
    passages: file.chunks,
    added_at: millis(file.addedAt)
  })

export const fileTextObject = ({ fileId, ...part }: FileTextPart): FileTextObject => ({
  object: "file.text",
  file_id: fileId,
  ...part
})

/** The words of the query that a hit has, each once, with the sum of what its forms add. */
const wordsOf = (
  contributions: Explained["contributions"][number],
  wordOf: ReadonlyMap<string, string>
): ProjectSearchResults["data"][number]["words"] => {
  const scores = new Map<string, number>()
  for (const { score, term } of contributions) {
    const word = wordOf.get(term) ?? term
    scores.set(word, (scores.get(word) ?? 0) + score)
  }
  return [...scores]
    .map(([word, score]) => ({ word, score }))
    .toSorted((one, other) => other.score - one.score)
}

export const searchResults = (found: Explained): ProjectSearchResults => {
  const wordOf = new Map(found.terms.map(({ term, word }) => [term, word]))
  return {
    object: "project.search_results",
    data: found.hits.map(({ fileId, ...hit }, place) => ({
      file_id: fileId,
      ...hit,
      words: wordsOf(found.contributions[place] ?? [], wordOf)
    })),
    nothing: found.nothing,
    terms: found.terms.map(({ chunks, edits, term, word }) => ({ word, term, edits, passages: chunks })),
    passages: found.chunks
  }
}

export const listOf = <Id, Item extends { readonly id: Id }>(
  data: ReadonlyArray<Item & { readonly id: Id }>,
  hasMore: boolean
) => ({
  object: "list" as const,
  data,
  has_more: hasMore,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null
})
