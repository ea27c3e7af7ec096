import { randomBytes } from "node:crypto"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, describe, it as test, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeS3Blobs } from "../../../src/files/blobs/S3Blobs.ts"
import { BlobStore } from "../../../src/files/BlobStore.ts"
import { AppConfig } from "../../../src/settings/AppConfig.ts"
import { S3Server } from "../../support/S3Server.ts"
import { signatureOf } from "../../support/S3Signature.ts"
import { testConfig } from "../../support/TestConfig.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Ground, quickLimits, quickS3, read, s3Store, streamOf } from "./Stores.ts"

const { partBytes, retriesMax } = quickLimits
const emptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

describe("The server that checks", () => {
  test("the test's S3 server agrees with the example that Amazon publishes", () => {
    const signature = signatureOf(
      {
        method: "GET",
        target: "/test.txt",
        headers: {
          host: "examplebucket.s3.amazonaws.com",
          range: "bytes=0-9",
          "x-amz-content-sha256": emptySha256,
          "x-amz-date": "20130524T000000Z"
        },
        signedHeaders: ["host", "range", "x-amz-content-sha256", "x-amz-date"]
      },
      {
        accessKeyId: "AKIAIOSFODNN7EXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region: "us-east-1"
      }
    )
    assert.strictEqual(signature, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
  })
})

layer(s3Store, { excludeTestServices: true })("S3Blobs", (it) => {
  const methods = Effect.map(
    Effect.flatMap(S3Server, ({ seen }) => seen),
    ({ requests }) => requests.map((request) => request.split(" ")[0])
  )

  it.effect(
    "the bucket store uploads in one request what fits into one part, and in parts what doesn't",
    () =>
      Effect.gen(function* () {
        const server = yield* S3Server
        const store = yield* BlobStore
        for (const [size, expected] of [
          [0, ["PUT"]],
          [partBytes, ["PUT"]],
          [partBytes + 1, ["POST", "PUT", "PUT", "POST"]],
          [3 * partBytes, ["POST", "PUT", "PUT", "PUT", "POST"]]
        ] as const) {
          yield* server.off
          yield* store.put(streamOf(randomBytes(size)))
          assert.deepStrictEqual(yield* methods, [...expected], `${size} bytes`)
        }
      })
  )

  it.effect("the bucket store goes on reading where the connection broke", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const store = yield* BlobStore
      const bytes = randomBytes(200_000)
      const { key } = yield* store.put(streamOf(bytes))
      for (const fault of ["cut within", "stall within"] as const) {
        yield* server.failRequest(1, fault, retriesMax)
        assert.deepStrictEqual(yield* read(store.get(key)), bytes, fault)
        assert.strictEqual((yield* server.seen).requests.length, retriesMax + 1)
        yield* server.failRequest(1, fault, 1)
        assert.deepStrictEqual(
          yield* read(store.get(key, { start: 5, end: 150_000 })),
          bytes.subarray(5, 150_000)
        )
        yield* server.failRequest(1, fault, Infinity)
        assert.strictEqual((yield* Effect.flip(read(store.get(key))))._tag, "StorageFailed")
        yield* server.off
      }
    })
  )

  it.effect(
    "the bucket store doesn't take less than it asked for, whatever the server calls its length",
    () =>
      Effect.gen(function* () {
        const server = yield* S3Server
        const store = yield* BlobStore
        const { key } = yield* store.put(streamOf(randomBytes(1_000)))
        yield* server.failRequest(1, "short")
        const error = yield* Effect.flip(read(store.get(key, { start: 0, end: 1_000 })))
        yield* server.off
        assert.match(String(error.cause), /500 of 1000 bytes/)
      })
  )

  it.effect("the bucket store waits for no answer for longer than its limit, and asks only so often", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const store = yield* BlobStore
      yield* server.failRequest(1, "SlowDown", Infinity)
      const exit = yield* Effect.exit(Stream.runDrain(store.olderThan(0)))
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual((yield* server.seen).requests.length, retriesMax + 1)
      yield* server.failRequest(1, "stall", Infinity)
      const error = yield* Effect.flip(store.sweepLeftovers(0))
      assert.match(String(error.cause), /No answer from 127\.0\.0\.1:\d+ within/)
      assert.strictEqual((yield* server.seen).requests.length, retriesMax + 1)
      yield* server.off
    })
  )

  it.effect(
    "the bucket store outlasts a store that is away for many attempts, within its retry seconds",
    () =>
      Effect.gen(function* () {
        const server = yield* S3Server
        const limits = { ...quickLimits, retriesMax: 1_000 }
        const persistent = yield* makeS3Blobs(limits)
        const bytes = randomBytes(3 * partBytes)
        yield* server.failRequest(2, "cut before", 40)
        const { key } = yield* persistent.put(streamOf(bytes))
        assert.isTrue((yield* server.seen).failed)
        yield* server.failRequest(2, "cut before", 40)
        yield* server.failRequest(1, "cut within", 1)
        assert.isTrue((yield* read(persistent.get(key))).equals(bytes))
        yield* server.failRequest(1, "500", 40)
        assert.isTrue((yield* read(persistent.get(key))).equals(bytes))
        assert.strictEqual((yield* server.seen).requests.length, 41)
        yield* persistent.remove(key)
        const impatient = yield* makeS3Blobs({ ...limits, retrySeconds: 0, backoffMillis: 20 })
        yield* server.failRequest(1, "500", 10)
        assert.strictEqual((yield* Effect.flip(impatient.put(streamOf(bytes))))._tag, "StorageFailed")
        yield* server.off
      })
  )

  it.effect("the bucket store names the host and the reason when no server answers", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const { dataDir } = yield* AppConfig
      const closed = yield* Effect.scoped(Layer.build(Layer.fresh(S3Server.layer())))
      const { endpoint } = Context.get(closed, S3Server).bucket
      const nobody = { ...server.bucket, endpoint }
      const store = yield* Effect.provideService(
        makeS3Blobs(quickLimits),
        AppConfig,
        testConfig({ dataDir, files: { store: "s3", s3: nobody } })
      )
      const { message } = yield* Effect.flip(store.check)
      assert.include(message, new URL(endpoint).host)
      assert.include(message, "ECONNREFUSED")
    })
  )

  it.effect("the bucket store asks only once where the answer won't change", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const store = yield* BlobStore
      const { key } = yield* store.put(streamOf(randomBytes(10)))
      yield* store.remove(key)
      yield* server.off
      yield* Effect.flip(read(store.get(key)))
      assert.strictEqual((yield* server.seen).requests.length, 1)
    })
  )

  for (const fault of ["500", "SlowDown", "cut before", "cut after", "stall"] as const) {
    it.effect(
      `the bucket store leaves what the sweep finds when the store goes away for good (${fault})`,
      () =>
        Effect.gen(function* () {
          const server = yield* S3Server
          const store = yield* BlobStore
          const ground = yield* Ground
          // A server that hangs costs time, so only a few of the steps are tried.
          for (const n of fault === "stall" ? [1] : [1, 2, 3, 4, 5]) {
            const before = yield* ground.look
            yield* server.failRequest(n, fault, Infinity)
            const exit = yield* Effect.exit(store.put(streamOf(randomBytes(2 * partBytes + 1))))
            const { failed } = yield* server.seen
            yield* server.off
            if (!failed) break
            if (Exit.isFailure(exit)) assert.include(String(exit.cause), "StorageFailed")
            // A blob that could not be cleaned up at once has a key that nobody was given, or none yet.
            assert.isAtMost((yield* ground.look).blobs - before.blobs, 1)
            yield* store.sweepLeftovers(0)
            yield* Effect.forEach(yield* Stream.runCollect(store.olderThan(0)), store.remove)
            assert.deepStrictEqual(yield* ground.look, { blobs: 0, leftovers: 0 }, `${n}`)
          }
        })
    )
  }

  it.effect("the bucket store leaves alone what others keep in the bucket", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const store = yield* BlobStore
      const { prefix } = server.bucket
      yield* server.place("theirs")
      yield* server.place(`${prefix}theirs.txt`)
      yield* server.begin("their-upload")
      yield* server.begin(`${prefix}their-upload`)
      const { key } = yield* store.put(streamOf(randomBytes(10)))
      yield* server.age(3_600_000)
      assert.deepStrictEqual(yield* Stream.runCollect(store.olderThan("1 minute")), [key])
      yield* store.sweepLeftovers("1 minute")
      assert.strictEqual(server.uploads.size, 2)
      yield* store.remove(key)
    })
  )

  it.effect("the bucket store signs every request so that a server takes it", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      assert.isEmpty(server.unsigned)
      const { dataDir } = yield* AppConfig
      const wrong = { ...server.bucket, secretAccessKey: Redacted.make("wrong") }
      const config = Layer.succeed(AppConfig, testConfig({ dataDir, files: { store: "s3", s3: wrong } }))
      const store = yield* Effect.provide(BlobStore, Layer.fresh(quickS3).pipe(Layer.provide(config)))
      yield* server.off
      const error = yield* Effect.flip(store.put(streamOf(randomBytes(10))))
      assert.match(String(error.cause), /403.*SignatureDoesNotMatch/)
      assert.include(server.unsigned, "SignatureDoesNotMatch")
      assert.notInclude(JSON.stringify(error), "wrong")
    })
  )
})

const inProduction = BlobStore.layer.pipe(
  Layer.provide(
    Layer.effect(
      AppConfig,
      Effect.map(S3Server, ({ bucket }) => testConfig({ files: { store: "s3", s3: bucket } }))
    )
  ),
  Layer.provideMerge(
    Layer.mergeAll(S3Server.layer(), TestDatabase.layer, NodeServices.layer, NodeCrypto.layer)
  ),
  Layer.orDie
)

layer(inProduction, { excludeTestServices: true })("S3Blobs with the service's own limits", (it) => {
  it.effect("the bucket store has parts that are as large as S3 demands", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const store = yield* BlobStore
      const bytes = randomBytes(17 * 1024 * 1024)
      yield* server.off
      const { key } = yield* store.put(streamOf(bytes))
      assert.deepStrictEqual(
        (yield* server.seen).requests.map((request) => request.split(" ")[0]),
        ["POST", "PUT", "PUT", "PUT", "POST"]
      )
      assert.isTrue((yield* read(store.get(key))).equals(bytes))
    })
  )
})

layer(Layer.mergeAll(S3Server.layer(), NodeCrypto.layer))("S3Blobs with the service's own retries", (it) => {
  /** Lets the time pass until `effect` is done, and says how many seconds that were. */
  const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const running = yield* Effect.forkChild(Effect.exit(effect))
      let millis = 0
      while (running.pollUnsafe() === undefined) {
        yield* TestClock.adjust("50 millis")
        millis += 50
        // Signatures are made in other threads: without a real pause the clock would run away from the
        // requests.
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
      }
      return { exit: yield* Fiber.join(running), seconds: millis / 1_000 }
    })

  it.effect("the bucket store repeats a request for as long as the settings say, and no longer", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const { bucket } = server
      const config = testConfig({ files: { store: "s3", s3: bucket } })
      const store = yield* Effect.provideService(makeS3Blobs(), AppConfig, config)
      yield* server.failRequest(1, "500", 7)
      const { exit } = yield* timed(store.put(streamOf(randomBytes(10))))
      assert.isTrue(Exit.isSuccess(exit), String(exit))
      yield* server.failRequest(1, "500", Infinity)
      const failed = yield* timed(store.put(streamOf(randomBytes(10))))
      assert.isTrue(Exit.isFailure(failed.exit))
      assert.isAbove(failed.seconds, bucket.retrySeconds)
    })
  )
})
