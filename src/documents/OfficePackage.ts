import { posix } from "node:path"
import { type Archive, readXml } from "./Archive.ts"

/** What a part of an Office document refers to. */
export interface Relationship {
  /** The last word of its type, such as `slide` or `hyperlink`. */
  readonly type: string
  /** A part's name, or the address of something outside. */
  readonly target: string
  readonly isExternal: boolean
}

const relationshipsMax = 100_000

/** The relationships of a part, by their ids; those of the document itself for the empty name. */
export const readRelationships = async (
  archive: Archive,
  part: string
): Promise<ReadonlyMap<string, Relationship>> => {
  const found = new Map<string, Relationship>()
  const name = posix.join(posix.dirname(part), "_rels", `${posix.basename(part)}.rels`)
  if (!archive.has(name)) return found
  await readXml(archive, name, {
    open: (element) => {
      const id = element.attribute("Id")
      const target = element.attribute("Target")
      const type = element.attribute("Type")
      if (element.name !== "Relationship" || id === undefined || target === undefined || type === undefined)
        return
      if (found.size >= relationshipsMax) return
      const isExternal = element.attribute("TargetMode") === "External"
      found.set(id, {
        type: type.slice(type.lastIndexOf("/") + 1),
        target: isExternal ? target : partName(part, target),
        isExternal
      })
    }
  })
  return found
}

/** Targets are relative to the part that names them, or begin at the root. */
const partName = (part: string, target: string): string =>
  posix.resolve("/", posix.dirname(part), target).slice(1)

/** The part of that type which a part refers to, if it does and it is there. */
export const relatedPart = (
  archive: Archive,
  relationships: ReadonlyMap<string, Relationship>,
  type: string
): string | null => {
  for (const relationship of relationships.values()) {
    if (relationship.type === type && !relationship.isExternal && archive.has(relationship.target)) {
      return relationship.target
    }
  }
  return null
}

/** The main part of an Office document, by its content type. */
export interface OfficePart {
  readonly part: string
  readonly type: string
}

const contentTypes = "[Content_Types].xml"

/** Null for an archive that isn't an Office document. */
export const officePart = async (archive: Archive): Promise<OfficePart | null> => {
  if (!archive.has(contentTypes)) return null
  const part = relatedPart(archive, await readRelationships(archive, ""), "officeDocument") ?? ""
  let type = ""
  await readXml(archive, contentTypes, {
    open: ({ attribute, name }) => {
      const isPart = name === "Override" && attribute("PartName")?.toLowerCase() === `/${part}`.toLowerCase()
      if (isPart) type = attribute("ContentType") ?? ""
    }
  })
  return { part, type }
}
