import { HttpApi, OpenApi } from "effect/http-api"
import { Envelope } from "./Authentication.ts"
import { FilesApi } from "./FilesApi.ts"
import { ResponsesApi } from "./ResponsesApi.ts"
import { SystemApi } from "./SystemApi.ts"

/** The public interface, declared once: routes, schemas, errors and the OpenAPI document all come from here. */
export class Api extends HttpApi.make("parley")
  .add(ResponsesApi)
  .add(FilesApi)
  .add(SystemApi)
  .middleware(Envelope)
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversational Response Service",
      version: "1.0.0",
      description:
        "One endpoint that answers messages, and files to refer to in them. The service chooses the model, keeps the " +
        "conversations, and counts the tokens that every answer takes."
    })
  ) {}
