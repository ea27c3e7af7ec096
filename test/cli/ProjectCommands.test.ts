import { randomUUID } from "node:crypto"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schema, Sink, Stdio } from "effect"
import { CorpusFileBody, FoundBody, MemberBody, ProjectBody } from "../../src/admin/AdminBodies.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import type { ProjectId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { AdminServer, clientWith, run, runReplacing } from "../admin/AdminServer.ts"
import { makeUser } from "../auth/AccountsFixture.ts"
import { countsOf, ScriptedExtraction, until, upload } from "../files/fixtures.ts"
import { ScriptedRetrieval } from "../retrieval/ScriptedRetrieval.ts"
import type { Ran } from "../support/captured.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

/** The document that a command with --json printed. */
const document =
  <S extends Schema.ConstraintDecoder<unknown>>(schema: S) =>
  (ran: Ran): S["Type"] => {
    assert.strictEqual(ran.code, 0, ran.stderr)
    return Schema.decodeUnknownSync(Schema.fromJsonString(schema))(ran.stdout)
  }

const refused = (ran: Ran, reason: RegExp) => {
  assert.deepInclude(ran, { code: 1, stdout: "" })
  assert.match(ran.stderr.split("\n").at(-1) ?? "", reason)
}

/** Files of this machine, for as long as the test runs. */
const localFiles = Effect.fnUntraced(function* (contents: Readonly<Record<string, string>>) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-project-"))),
    (path) => Effect.sync(() => removeDirectory(path))
  )
  return Object.entries(contents).map(([name, content]) => {
    const path = join(directory, name)
    writeFileSync(path, content)
    return path
  })
})

/** A project with an owner. */
const someProject = Effect.gen(function* () {
  const { organization, user } = yield* makeUser
  const name = `project of ${organization.name}`
  const made = yield* run("project", "create", name, "--org", organization.name, "--json")
  const project = document(ProjectBody)(made)
  yield* run("project", "add-member", name, user.email, "--role", "owner")
  return { organization, user, name, id: project.id }
})

const filesOf = (id: ProjectId) =>
  Effect.map(run("project", "files", id, "--json"), document(Schema.Array(CorpusFileBody)))

const project = (...args: ReadonlyArray<string>) => run("project", ...args)

layer(AdminServer.layer, { excludeTestServices: true })("parley project", (it) => {
  it.effect("parley project creates and lists projects", () =>
    Effect.gen(function* () {
      const { organization } = yield* makeUser
      const name = `Böats & more of ${organization.name}`
      const made = yield* project("create", name, "--org", organization.name)
      assert.match(
        made.stdout,
        new RegExp(`^Created project ${name} of ${organization.name}: [0-9a-f-]{36}\\.$`)
      )
      refused(
        yield* project("create", name.toUpperCase(), "--org", organization.name),
        /^parley: A project of that name exists already in the organization\.$/
      )
      refused(
        yield* project("create", "x", "--org", "nobody's"),
        /The organization does not exist\. Those that exist: /
      )
      const all = document(Schema.Array(ProjectBody))(yield* project("list", "--json"))
      assert.deepInclude(
        all.find((one) => one.name === name),
        { organization: organization.name, members: 0, files: 0 }
      )
      const [heading, ...rows] = (yield* project("list")).stdout.split("\n")
      assert.match(heading ?? "", /^NAME +ORGANIZATION +MEMBERS +FILES +SINCE +ID$/)
      assert.lengthOf(
        rows.filter((row) => row.startsWith(name)),
        1
      )
      for (const odd of ["", " x", randomUUID()]) {
        const { code, stderr } = yield* project("create", odd, "--org", organization.name)
        assert.strictEqual(code, 2, odd)
        assert.match(stderr, /and no id/)
      }
    })
  )

  it.effect("parley project adds users of the organization as members, and removes them", () =>
    Effect.gen(function* () {
      const { organization, user, name, id } = yield* someProject
      const { user: stranger } = yield* makeUser
      const accounts = yield* Accounts
      const colleague = yield* accounts.createUser(`${randomUUID()}@example.com`, organization.name)
      const added = yield* project("add-member", name, colleague.email)
      assert.strictEqual(added.stdout, `${colleague.email} is now member of project ${name}.`)
      const members = Effect.map(project("members", name, "--json"), document(Schema.Array(MemberBody)))
      assert.sameDeepMembers(
        (yield* members).map(({ email, role }) => [email, role]),
        [
          [user.email, "owner"],
          [colleague.email, "member"]
        ]
      )
      assert.match((yield* project("members", id)).stdout, /^EMAIL +ROLE +SINCE\n/)
      refused(
        yield* project("add-member", name, stranger.email),
        /^parley: The user belongs to another organization than the project\.$/
      )
      refused(
        yield* project("add-member", name, "nobody@example.com"),
        /The user does not exist\. Those that exist: /
      )
      assert.strictEqual((yield* project("add-member", name, user.email, "--role", "king")).code, 2)
      const removed = yield* project("remove-member", id, colleague.email)
      assert.strictEqual(removed.stdout, `${colleague.email} is no longer a member of project ${id}.`)
      refused(
        yield* project("remove-member", id, colleague.email),
        /^parley: The user is not a member of the project\.$/
      )
      assert.lengthOf(yield* members, 1)
    })
  )

  it.effect("parley project keeps the only owner of a project, also when two are removed at once", () =>
    Effect.gen(function* () {
      const { organization, user, name, id } = yield* someProject
      const colleague = yield* (yield* Accounts).createUser(`${randomUUID()}@example.com`, organization.name)
      const reason =
        /^parley: This is the only owner of the project\. Make another member an owner first, or delete the project\.$/
      refused(yield* project("add-member", name, user.email), reason)
      refused(yield* project("remove-member", name, user.email), reason)
      const { projects } = yield* clientWith()
      const failed = yield* Effect.flip(
        projects.removeMember({ params: { project_id: id }, query: { email: user.email } })
      )
      assert.deepInclude("error" in failed ? failed.error : {}, {
        code: "last_project_owner",
        param: "email"
      })

      yield* project("add-member", name, colleague.email, "--role", "owner")
      const ran = yield* Effect.all(
        [user, colleague].map(({ email }) => project("remove-member", id, email)),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(ran.map(({ code }) => code).toSorted(), [0, 1])
      const members = document(Schema.Array(MemberBody))(yield* project("members", name, "--json"))
      assert.deepStrictEqual(
        members.map(({ role }) => role),
        ["owner"]
      )
    })
  )

  it.effect(
    "parley project finds a project by its name, its id or its organization and name, and asks for the last where names are ambiguous",
    () =>
      Effect.gen(function* () {
        const { name, id } = yield* someProject
        const { organization: other } = yield* makeUser
        for (const text of [name, name.toUpperCase(), id]) {
          assert.strictEqual((yield* project("files", text)).code, 0, text)
        }
        for (const text of ["nothing of that name", "", "x".repeat(200)]) {
          refused(yield* project("files", text), /^parley: There is no project .*\.$/)
        }
        refused(yield* project("files", randomUUID()), /^parley: The project does not exist\.$/)
        yield* project("create", name, "--org", other.name)
        const ran = yield* project("files", name)
        refused(ran, /^parley: 2 projects have the name .*; name yours with its organization: /)
        assert.include(ran.stderr, `${other.name}/${name}`)
        assert.strictEqual((yield* project("files", `${other.name}/${name}`)).code, 0)
        refused(yield* project("files", `Nothing/${name}`), /^parley: There is no project Nothing/)
        assert.strictEqual((yield* project("files", id)).code, 0)
      })
  )

  it.effect("parley project uploads files, waits until they are searchable, and reports each", () =>
    Effect.gen(function* () {
      const { user, name, id } = yield* someProject
      const contents = Object.fromEntries(
        Array.from({ length: 7 }, (_, n) => [`file ${n}.txt`, `zebra ${n}\nand horse`])
      )
      const paths = yield* localFiles(contents)
      const ran = yield* project("add-file", name, ...paths, "--wait", "--json")
      const added = document(Schema.Array(CorpusFileBody))(ran)
      assert.deepStrictEqual(added.map(({ filename }) => filename).toSorted(), Object.keys(contents))
      for (const file of added) {
        assert.deepInclude(file, { status: "indexed", chunks: 2, owner: user.email, status_details: null })
      }
      const bytes = Object.values(contents).reduce((sum, { length }) => sum + length, 0)
      assert.strictEqual(
        ran.stderr,
        [
          `Uploading 7 files (${bytes} bytes).`,
          `Sent ${bytes} bytes.`,
          "Making searchable (7 files).",
          "7 files done."
        ].join("\n")
      )
      assert.deepStrictEqual(yield* filesOf(id), added)
      const [heading, row] = (yield* project("files", name)).stdout.split("\n")
      assert.match(heading ?? "", /^NAME +STATUS +CHUNKS +BYTES +OWNER +SINCE +ID +DETAILS$/)
      assert.match(row ?? "", /^file \d\.txt +indexed +2 +17 +user/)
    })
  )

  it.effect("parley project shows the progress of an upload on a terminal", () =>
    Effect.gen(function* () {
      const { name } = yield* someProject
      const paths = yield* localFiles({ "a.txt": "zebra", "b.txt": "horse" })
      const written: Array<string> = []
      const terminal = Stdio.layerTest({
        stderrIsTerminal: Effect.succeed(true),
        stderr: () => Sink.forEach((text) => Effect.sync(() => written.push(String(text))))
      })
      const ran = yield* runReplacing(terminal, "project", "add-file", name, ...paths, "--wait")
      assert.match(ran.stdout, /^(Added "[ab]\.txt" \([0-9a-f-]{36}\): searchable, 1 chunk\.\n?){2}$/)
      assert.strictEqual(written[0], "\rUploading 2 files: 0 of 10 bytes, 0%")
      assert.include(written, "\rUploading 2 files: 10 of 10 bytes, 100%")
      assert.include(written, "\rMaking searchable: 0 of 2 files, 0%")
      assert.include(written, "\rMaking searchable: 2 of 2 files, 100%")
      assert.strictEqual(written.at(-1), "\n")
    })
  )

  it.effect("parley project names the file that can't be searched, and the reason", () =>
    Effect.gen(function* () {
      const { name, id } = yield* someProject
      const paths = yield* localFiles({ "odd.txt": "unreadable", "fine.txt": "zebra" })
      const ran = yield* project("add-file", name, ...paths, "--wait")
      assert.strictEqual(ran.code, 1)
      assert.match(
        ran.stdout,
        /"odd\.txt" \(.*\), but it can't be searched \(error\)\. Nobody can read this\./
      )
      assert.match(ran.stdout, /"fine\.txt" \(.*\): searchable, 1 chunk\./)
      assert.match(ran.stderr, /parley: 1 file can't be searched\.$/)
      assert.deepStrictEqual((yield* filesOf(id)).map(({ status }) => status).toSorted(), [
        "error",
        "indexed"
      ])
      assert.match((yield* project("files", name)).stdout, /error .*Nobody can read this\.$/m)
    })
  )

  it.effect("parley project adds the others where a file is empty or can't be read, and says so", () =>
    Effect.gen(function* () {
      const { name, id } = yield* someProject
      const paths = yield* localFiles({ "empty.txt": "", "fine.txt": "zebra" })
      const ran = yield* project("add-file", name, ...paths, "/nowhere/at/all.txt", "--wait")
      assert.strictEqual(ran.code, 1)
      assert.match(ran.stdout, /"fine\.txt" \(.*\): searchable, 1 chunk\./)
      assert.match(
        ran.stderr,
        /parley: 2 files could not be added\. .*empty\.txt is empty\. \/nowhere\/at\/all\.txt/
      )
      assert.deepStrictEqual(
        (yield* filesOf(id)).map(({ filename }) => filename),
        ["fine.txt"]
      )
    })
  )

  it.effect("parley project uploads the files for the named user, and rejects one who can't own them", () =>
    Effect.gen(function* () {
      const { organization, user, name, id } = yield* someProject
      const { user: stranger } = yield* makeUser
      const accounts = yield* Accounts
      const colleague = yield* accounts.createUser(`${randomUUID()}@example.com`, organization.name)
      const paths = yield* localFiles({ "a.txt": "zebra", "empty.txt": "" })
      const [path = "", empty = ""] = paths
      const ran = yield* project("add-file", name, path, "--user", colleague.email, "--json")
      assert.deepInclude(document(Schema.Array(CorpusFileBody))(ran)[0], { owner: colleague.email })
      refused(
        yield* project("add-file", name, path, "--user", stranger.email),
        /^parley: The user belongs to another organization than the project\.$/
      )
      refused(yield* project("add-file", name, empty), /empty\.txt is empty\.$/)
      refused(yield* project("add-file", name, empty, join(path, "none")), /empty\.txt is empty\. .*none/)
      refused(yield* project("add-file", name, join(path, "none")), /can't be read|does not exist/)
      assert.strictEqual((yield* project("add-file", name)).code, 2)
      const ownerless = `${name} without members`
      yield* project("create", ownerless, "--org", organization.name)
      refused(
        yield* project("add-file", ownerless, path),
        /^parley: The project has no owner: say who is to own the file\.$/
      )
      assert.lengthOf(yield* filesOf(id), 1)
      assert.deepInclude(yield* countsOf(user.id), { rows: 0 })
      assert.deepInclude(yield* countsOf(stranger.id), { rows: 0 })
    })
  )

  it.effect("parley project removes a file, which its owner keeps, and indexes all files again", () =>
    Effect.gen(function* () {
      const { user, name, id } = yield* someProject
      const { projects } = yield* clientWith()
      const store = yield* FileStore
      const scripted = yield* ScriptedRetrieval
      const first = yield* upload(user.id, "zebra", { filename: "first.txt" })
      const second = yield* upload(user.id, "horse", { filename: "second.txt" })
      for (const { id: file_id } of [first, second, second]) {
        yield* projects.addFile({ params: { project_id: id }, payload: { file_id } })
      }
      const areIndexed = Effect.map(filesOf(id), (files) => files.every(({ status }) => status === "indexed"))
      yield* until(areIndexed)
      assert.lengthOf(yield* filesOf(id), 2)
      const removed = yield* project("remove-file", name, first.id)
      assert.strictEqual(removed.stdout, `Removed file ${first.id} from project ${name}; its owner keeps it.`)
      refused(yield* project("remove-file", name, first.id), /^parley: The file does not exist\.$/)
      assert.strictEqual((yield* store.get(user.id, first.id)).id, first.id)

      const before = (yield* scripted.begun).length
      const again = yield* project("reindex", name)
      assert.match(again.stdout, /^1 file of project .* will be indexed again; see `parley project files`\.$/)
      yield* until(areIndexed)
      assert.deepStrictEqual((yield* scripted.begun).slice(before), ["second.txt"])
    })
  )

  it.effect("parley project searches, and explains the results or why there are none", () =>
    Effect.gen(function* () {
      const { name } = yield* someProject
      const search = (...args: ReadonlyArray<string>) => project("search", name, ...args)
      assert.strictEqual((yield* search("zebra")).stdout, "Nothing was found: the project has no files.")
      const paths = yield* localFiles({ "a.txt": "a zebra\nand a zebra foal", "b.txt": "a horse" })
      yield* project("add-file", name, ...paths, "--wait")
      assert.strictEqual((yield* search("giraffe")).stdout, "Nothing was found that fits.")
      const { stdout } = yield* search("zebra foal")
      assert.match(
        stdout,
        /^1\. 2\.000 {2}a\.txt \([0-9a-f-]{36}\), characters 8 to 24\n {3}and a zebra foal\n\n2\. 1\.000 /
      )
      const one = document(FoundBody)(yield* search("zebra foal", "--limit", "1", "--json"))
      assert.deepInclude(one, { nothing: null, explanation: null })
      assert.lengthOf(one.hits, 1)
      assert.deepInclude(one.hits[0], { filename: "a.txt", start: 8, end: 24, text: "and a zebra foal" })
      const explained = (yield* search("zebra", "--explain")).stdout
      assert.match(
        explained,
        /^1 chunk\. Languages: simple\.\nTERM +WORD +EDITS +CHUNKS +IDF +WEIGHT\nzebr +zebra/
      )
      assert.match(explained, /\n {3}by zebr 1\.000\n/)
      for (const limit of ["0", "101", "x"])
        assert.strictEqual((yield* search("a", "--limit", limit)).code, 2)
      assert.strictEqual((yield* search("  ")).code, 2)
      refused(yield* project("search", randomUUID(), "zebra"), /^parley: The project does not exist\.$/)
    })
  )

  it.effect("parley project reports that not all files are searchable yet", () =>
    Effect.gen(function* () {
      const { user, name, id } = yield* someProject
      const { projects } = yield* clientWith()
      const extraction = yield* ScriptedExtraction
      const waiting = yield* Effect.forkChild(upload(user.id, "hang zebra", { filename: "slow.txt" }))
      const store = yield* FileStore
      const listed = store.list(user.id, { limit: 1, order: "desc" })
      yield* until(Effect.map(listed, ({ files }) => files.length === 1))
      const { files } = yield* listed
      yield* projects.addFile({ params: { project_id: id }, payload: { file_id: files[0]!.id } })
      const early = yield* project("search", name, "zebra")
      assert.strictEqual(early.stdout, "Nothing was found, but not all files are searchable yet.")
      assert.match((yield* project("files", name)).stdout, /slow\.txt +pending +- /)
      yield* extraction.release
      yield* (yield* ScriptedRetrieval).release
      yield* until(
        Effect.map(project("search", name, "zebra"), ({ stdout }) => stdout.includes("hang zebra"))
      )
      yield* Fiber.join(waiting)
    })
  )

  it.effect("parley project prints a line for each query of an evaluation, in their order", () =>
    Effect.gen(function* () {
      const { name } = yield* someProject
      const paths = yield* localFiles({ "a.txt": "a zebra\na zebra foal", "b.txt": "a horse" })
      yield* project("add-file", name, ...paths, "--wait")
      const queries = [
        '{"_id": "q1", "text": "zebra foal"}',
        "",
        '{"_id": 2, "text": "giraffe"}',
        ...Array.from({ length: 20 }, (_, n) => `{"_id": "n${n}", "text": "horse", "more": true}`)
      ]
      const [file = "", broken = ""] = yield* localFiles({
        "queries.jsonl": `${queries.join("\n")}\n`,
        "broken.jsonl": '{"_id": "q1", "text": "zebra"}\n{"text": "zebra"}\n'
      })
      const ran = yield* project("eval", name, "--queries", file)
      assert.deepInclude(ran, { code: 0, stderr: "" })
      const Line = Schema.fromJsonString(
        Schema.Struct({
          query_id: Schema.String,
          results: Schema.Array(
            Schema.Struct({
              file_id: Schema.String,
              filename: Schema.String,
              start: Schema.Int,
              end: Schema.Int,
              score: Schema.Finite
            })
          )
        })
      )
      const lines = ran.stdout.split("\n").map((line) => Schema.decodeSync(Line)(line))
      assert.deepStrictEqual(
        lines.map(({ query_id }) => query_id),
        ["q1", "2", ...Array.from({ length: 20 }, (_, n) => `n${n}`)]
      )
      const [first, second] = lines
      assert.deepStrictEqual(
        first?.results.map(({ end, filename, score, start }) => [filename, start, end, score]),
        [
          ["a.txt", 8, 20, 2],
          ["a.txt", 0, 7, 1]
        ]
      )
      assert.deepStrictEqual(second?.results, [])
      const short = yield* project("eval", name, "--queries", file, "--limit", "1")
      assert.lengthOf(Schema.decodeSync(Line)(short.stdout.split("\n")[0] ?? "").results, 1)

      const halfway = yield* project("eval", name, "--queries", broken)
      assert.strictEqual(halfway.code, 1)
      assert.match(halfway.stderr, /^parley: Line 2 of .*broken\.jsonl is no query, such as \{"_id"/)
      refused(yield* project("eval", name, "--queries", `${file}.none`), /\.none does not exist\.$/)
    })
  )
})

layer(AdminServer.layerWith({ files: { fileBytesMax: 1_000, filesPerUserMax: 2, uploadsPerUserMax: 1 } }), {
  excludeTestServices: true
})("parley project, where little is allowed", (it) => {
  it.effect("parley project uploads no more files at once than allowed, and reports how many it added", () =>
    Effect.gen(function* () {
      const { name, id } = yield* someProject
      const paths = yield* localFiles({ "a.txt": "a", "b.txt": "b", "c.txt": "c" })
      const ran = yield* project("add-file", name, ...paths)
      refused(
        ran,
        /^parley: c\.txt: You have as many files as you may have: 2\. Delete some\. Before that, 2 of 3 files were added\.$/
      )
      assert.lengthOf(yield* filesOf(id), 2)
      const [large = ""] = yield* localFiles({ "large.txt": "x".repeat(1_001) })
      refused(
        yield* project("add-file", name, large),
        /large\.txt has 1001 bytes; a file may have at most 1000\.$/
      )
    })
  )
})
