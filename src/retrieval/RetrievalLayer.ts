import { Layer } from "effect"
import { unlockAllJobs } from "../sql/JobQueue.ts"
import { layerReleasing } from "../sql/SoleOwner.ts"
import { MemberProjects } from "../projects/MemberProjects.ts"
import { ProjectNotes } from "../projects/notes/ProjectNotes.ts"
import { Projects } from "../projects/Projects.ts"
import { ReadableProjects } from "../projects/ReadableProjects.ts"
import { Retrieval } from "./Retrieval.ts"
import { jobsTable } from "./vectors/EmbeddingJobs.ts"

/** Projects, and the search of their files. */
export const RetrievalLayer = Layer.merge(
  ProjectNotes.layer.pipe(Layer.provideMerge(MemberProjects.layer), Layer.provideMerge(Projects.layer)),
  ReadableProjects.layer
).pipe(Layer.provideMerge(Retrieval.layer), Layer.provide(layerReleasing(unlockAllJobs([jobsTable]))))
