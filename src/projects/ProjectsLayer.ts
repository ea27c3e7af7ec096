import { Layer } from "effect"
import { ProjectNotes } from "./ProjectNotes.ts"
import { Projects } from "./Projects.ts"

/** Projects with their members and files, and the notes of clients that use them as vector stores. */
export const ProjectsLayer = ProjectNotes.layer.pipe(Layer.provideMerge(Projects.layer))
