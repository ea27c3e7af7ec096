
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    hint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone
);
CREATE TABLE public.conversations (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    hidden boolean NOT NULL,
    system_message text,
    turn_count integer DEFAULT 0 NOT NULL,
    lease_fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.effect_sql_migrations (
    migration_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    name text NOT NULL
);
CREATE TABLE public.file_blob_pieces (
    key text NOT NULL,
    "position" integer NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY public.file_blob_pieces ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE public.file_blobs (
    key text NOT NULL,
    bytes bigint NOT NULL,
    complete boolean DEFAULT false NOT NULL,
    touched_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.file_jobs (
    sequence bigint NOT NULL,
    id character varying(255) NOT NULL,
    queue_name character varying(255) NOT NULL,
    element text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_failure text,
    acquired_at timestamp without time zone,
    acquired_by uuid,
    created_at timestamp without time zone NOT NULL,
    updated_at timestamp without time zone NOT NULL,
    state character varying(10) NOT NULL,
    visible_at timestamp without time zone NOT NULL
);
CREATE TABLE public.file_jobs_migrations (
    migration_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    name text NOT NULL
);
CREATE SEQUENCE public.file_jobs_sequence_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.file_jobs_sequence_seq OWNED BY public.file_jobs.sequence;
CREATE TABLE public.file_store_replicas (
    id uuid NOT NULL,
    directory uuid NOT NULL,
    location text NOT NULL,
    seen_at timestamp with time zone NOT NULL
);
CREATE TABLE public.file_texts (
    file_id uuid NOT NULL,
    extractor text NOT NULL,
    text text NOT NULL,
    truncated boolean NOT NULL,
    pages integer[],
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.file_usage (
    user_id uuid NOT NULL,
    files integer DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT file_usage_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT file_usage_files_check CHECK ((files >= 0))
);
CREATE TABLE public.files (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    filename text NOT NULL,
    purpose text NOT NULL,
    bytes bigint NOT NULL,
    sha256 bytea NOT NULL,
    storage_key text NOT NULL,
    status text NOT NULL,
    status_details text,
    media_type text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT files_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT files_status_check CHECK ((status = ANY (ARRAY['uploaded'::text, 'processed'::text, 'error'::text])))
);
CREATE TABLE public.index_jobs (
    sequence bigint NOT NULL,
    id character varying(255) NOT NULL,
    queue_name character varying(255) NOT NULL,
    element text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_failure text,
    acquired_at timestamp without time zone,
    acquired_by uuid,
    created_at timestamp without time zone NOT NULL,
    updated_at timestamp without time zone NOT NULL,
    state character varying(10) NOT NULL,
    visible_at timestamp without time zone NOT NULL
);
CREATE TABLE public.index_jobs_migrations (
    migration_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    name text NOT NULL
);
CREATE SEQUENCE public.index_jobs_sequence_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.index_jobs_sequence_seq OWNED BY public.index_jobs.sequence;
CREATE TABLE public.items (
    response_id uuid NOT NULL,
    side text NOT NULL,
    "position" integer NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    item json NOT NULL,
    CONSTRAINT items_side_check CHECK ((side = ANY (ARRAY['input'::text, 'output'::text])))
);
CREATE TABLE public.organizations (
    id uuid NOT NULL,
    name text NOT NULL,
    plan text DEFAULT 'default'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.project_files (
    project_id uuid NOT NULL,
    file_id uuid NOT NULL,
    added_by uuid NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    status_details text,
    chunks integer,
    index_version text,
    job uuid,
    added_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT project_files_chunks_check CHECK ((chunks >= 0)),
    CONSTRAINT project_files_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'indexed'::text, 'error'::text])))
);
CREATE TABLE public.project_members (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT project_members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text])))
);
CREATE TABLE public.projects (
    id uuid NOT NULL,
    organization_id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.retrieval_embeddings (
    index_id integer NOT NULL,
    "position" integer NOT NULL,
    model text NOT NULL,
    base integer NOT NULL,
    signs bit varying NOT NULL,
    vector bytea NOT NULL
);
ALTER TABLE ONLY public.retrieval_embeddings ALTER COLUMN vector SET STORAGE EXTERNAL;
CREATE TABLE public.retrieval_files (
    project_id uuid NOT NULL,
    file_id uuid NOT NULL,
    index_id integer NOT NULL,
    filename text NOT NULL,
    language text NOT NULL,
    base integer NOT NULL,
    chunks integer NOT NULL,
    tokens integer NOT NULL,
    pages integer[],
    embedded_by text,
    embedding_until timestamp with time zone,
    embedding_attempts integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.retrieval_indexes (
    id integer NOT NULL,
    project_id uuid NOT NULL,
    next_position integer DEFAULT 0 NOT NULL,
    chunks integer DEFAULT 0 NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    languages text[] DEFAULT '{}'::text[] NOT NULL
);
ALTER TABLE public.retrieval_indexes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.retrieval_indexes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.retrieval_passages (
    index_id integer NOT NULL,
    base integer NOT NULL,
    project_id uuid NOT NULL,
    file_id uuid NOT NULL,
    starts integer[] NOT NULL,
    ends integer[] NOT NULL,
    outlines smallint[] NOT NULL,
    headings jsonb NOT NULL,
    text_start integer NOT NULL,
    text text NOT NULL
);
CREATE TABLE public.retrieval_postings (
    index_id integer NOT NULL,
    term text NOT NULL COLLATE pg_catalog."C",
    base integer NOT NULL,
    postings integer[] NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.token_counters (
    user_id uuid NOT NULL,
    day date NOT NULL,
    day_used bigint NOT NULL,
    day_reserved bigint DEFAULT 0 NOT NULL,
    month date NOT NULL,
    month_used bigint NOT NULL,
    month_reserved bigint DEFAULT 0 NOT NULL,
    granted bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.token_limits (
    user_id uuid NOT NULL,
    span text NOT NULL,
    tokens bigint,
    CONSTRAINT token_limits_span_check CHECK ((span = ANY (ARRAY['daily'::text, 'monthly'::text]))),
    CONSTRAINT token_limits_tokens_check CHECK ((tokens >= 0))
);
CREATE TABLE public.token_reservations (
    response_id uuid NOT NULL,
    part integer NOT NULL,
    user_id uuid NOT NULL,
    day date NOT NULL,
    month date NOT NULL,
    tokens bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.turns (
    response_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    "position" integer NOT NULL,
    model text NOT NULL,
    prompt_tokens integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT turns_prompt_tokens_check CHECK ((prompt_tokens >= 0))
);
CREATE TABLE public.usage_records (
    response_id uuid NOT NULL,
    user_id uuid NOT NULL,
    organization_id uuid NOT NULL,
    key_id uuid NOT NULL,
    model text NOT NULL,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    source text NOT NULL,
    outcome text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    tool_calls integer DEFAULT 0 NOT NULL,
    latency_millis integer,
    CONSTRAINT usage_records_outcome_check CHECK ((outcome = ANY (ARRAY['completed'::text, 'failed'::text, 'abandoned'::text])))
);
CREATE TABLE public.users (
    id uuid NOT NULL,
    organization_id uuid NOT NULL,
    email text NOT NULL,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.file_jobs ALTER COLUMN sequence SET DEFAULT nextval('public.file_jobs_sequence_seq'::regclass);
ALTER TABLE ONLY public.index_jobs ALTER COLUMN sequence SET DEFAULT nextval('public.index_jobs_sequence_seq'::regclass);
INSERT INTO public.api_keys VALUES ('01a205ae-326e-71bf-917e-99972f40d1e2', '01a205ae-3262-701c-af48-ec0c486b266d', 'first key', '\x6b6db4b87254063d43b8b0f8a7e5188d1f322d58a9a0d4f32e35570a82e9d02f', 'xrnU', '2026-11-22 23:53:51.913724+00', NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('01a205ae-3fdc-75ff-869c-26e221b87b05', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 'old laptop', '\xe59102a8d21d9247b8fba7384f3e495f622a218709e3066661418132b8801824', 'prJ1', '2026-11-22 23:53:55.420545+00', NULL, '2026-11-22 23:53:55.916+00', NULL);
INSERT INTO public.api_keys VALUES ('01a205ae-3a23-7789-9712-bc5ff94934b1', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 'initial key', '\x604eb1d238d090d4c170671423d126164ad49e3c97e6e602e4e4efc05e8d0514', '7X2Z', '2026-11-22 23:53:53.952851+00', NULL, NULL, '2026-11-22 23:54:00.966+00');
INSERT INTO public.conversations VALUES ('01a205ae-5581-7458-83ce-7bf4aa297b37', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', true, NULL, 2, 4, NULL, '2026-11-22 23:54:00.97099+00', '2026-11-22 23:54:01.454179+00');
INSERT INTO public.effect_sql_migrations VALUES (1, '2026-11-22 23:53:51.607545+00', 'initial');
INSERT INTO public.effect_sql_migrations VALUES (2, '2026-11-22 23:53:51.607545+00', 'files');
INSERT INTO public.effect_sql_migrations VALUES (3, '2026-11-22 23:53:51.607545+00', 'projects');
INSERT INTO public.effect_sql_migrations VALUES (4, '2026-11-22 23:53:51.607545+00', 'retrieval');
INSERT INTO public.effect_sql_migrations VALUES (5, '2026-11-22 23:53:51.607545+00', 'embeddings');
INSERT INTO public.effect_sql_migrations VALUES (6, '2026-11-22 23:53:51.607545+00', 'allowances');
INSERT INTO public.effect_sql_migrations VALUES (7, '2026-11-22 23:53:51.607545+00', 'usage_source');
INSERT INTO public.file_blob_pieces VALUES ('01a205ae-4853-712a-abd3-b4d76404f60f', 0, '\x54686520626c7565206865726f6e206e6573747320696e2074686520726565647320626568696e6420746865206d696c6c2e20497473206e616d6520696e20746865207265676973746572206973204772696d616c64692e0a');
INSERT INTO public.file_blob_pieces VALUES ('01a205ae-5026-760f-897d-bd2dfebb3aa4', 0, '\x54686520626c7565206865726f6e206e6573747320696e2074686520726565647320626568696e6420746865206d696c6c2e20497473206e616d6520696e20746865207265676973746572206973204772696d616c64692e0a');
INSERT INTO public.file_blobs VALUES ('01a205ae-4853-712a-abd3-b4d76404f60f', 89, true, '2026-11-22 23:53:57.592085+00');
INSERT INTO public.file_blobs VALUES ('01a205ae-5026-760f-897d-bd2dfebb3aa4', 89, true, '2026-11-22 23:53:59.59463+00');
INSERT INTO public.file_jobs VALUES (1, '01a205ae-4858-730d-836d-cdc087fcccae', 'texts', '{"fileId":"01a205ae-4858-730d-836d-cdc087fcccae"}', 1, NULL, NULL, NULL, '2026-11-22 23:53:57.593144', '2026-11-22 23:53:57.756025', 'completed', '2026-11-22 23:53:57.593144');
INSERT INTO public.file_jobs VALUES (2, '01a205ae-502a-72ce-8963-e1aa7b2bb6ff', 'texts', '{"fileId":"01a205ae-502a-72ce-8963-e1aa7b2bb6ff"}', 1, NULL, NULL, NULL, '2026-11-22 23:53:59.595185', '2026-11-22 23:53:59.68476', 'completed', '2026-11-22 23:53:59.595185');
INSERT INTO public.file_jobs_migrations VALUES (1, '2026-11-22 23:53:51.607545+00', 'create_table');
INSERT INTO public.file_jobs_migrations VALUES (2, '2026-11-22 23:53:51.607545+00', 'upgrade_schema');
INSERT INTO public.file_texts VALUES ('01a205ae-4858-730d-836d-cdc087fcccae', '2', 'The blue heron nests in the reeds behind the mill. Its name in the register is Grimaldi.
', false, NULL, '2026-11-22 23:53:57.752979+00');
INSERT INTO public.file_texts VALUES ('01a205ae-502a-72ce-8963-e1aa7b2bb6ff', '2', 'The blue heron nests in the reeds behind the mill. Its name in the register is Grimaldi.
', false, NULL, '2026-11-22 23:53:59.67738+00');
INSERT INTO public.file_usage VALUES ('01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 2, 178);
INSERT INTO public.files VALUES ('01a205ae-4858-730d-836d-cdc087fcccae', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 'heron.md', 'assistants', 89, '\x8588b4458b17cb061a6d7ed1fc47734dccfbc55402109db128605bd60432282a', '01a205ae-4853-712a-abd3-b4d76404f60f', 'processed', NULL, 'text/markdown', '2026-11-22 23:53:57.592+00');
INSERT INTO public.files VALUES ('01a205ae-502a-72ce-8963-e1aa7b2bb6ff', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 'heron.md', 'assistants', 89, '\x8588b4458b17cb061a6d7ed1fc47734dccfbc55402109db128605bd60432282a', '01a205ae-5026-760f-897d-bd2dfebb3aa4', 'processed', NULL, 'text/markdown', '2026-11-22 23:53:59.594+00');
INSERT INTO public.index_jobs VALUES (1, '01a205ae-50a5-727c-94bb-9aa9ed481a8a', 'indexing', '{"projectId":"01a205ae-4bdf-779c-a82a-f0c948ca736b","fileId":"01a205ae-502a-72ce-8963-e1aa7b2bb6ff","job":"01a205ae-50a5-727c-94bb-9aa9ed481a8a"}', 1, NULL, NULL, NULL, '2026-11-22 23:53:59.716925', '2026-11-22 23:53:59.759439', 'completed', '2026-11-22 23:53:59.716925');
INSERT INTO public.index_jobs_migrations VALUES (1, '2026-11-22 23:53:51.607545+00', 'create_table');
INSERT INTO public.index_jobs_migrations VALUES (2, '2026-11-22 23:53:51.607545+00', 'upgrade_schema');
INSERT INTO public.items VALUES ('01a205ae-5585-70d7-a185-2cef7845575b', 'input', 0, '01a205ae-557c-77d1-b729-bcd90023cbe8', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '{"id":"01a205ae-557c-77d1-b729-bcd90023cbe8","type":"message","role":"user","content":[{"type":"input_text","text":"Remember the word cobalt."}]}');
INSERT INTO public.items VALUES ('01a205ae-5585-70d7-a185-2cef7845575b', 'output', 0, '01a205ae-572f-7481-bfd8-9586d0c10bc6', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '{"id":"01a205ae-572f-7481-bfd8-9586d0c10bc6","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"You asked: “Remember the word cobalt.”\n\nI can''t answer that. I am parley-offline, a small program that is built into this service. I am not a language model: I don''t understand what you write, and I know nothing of the world. Give me a text of some length and I sum it up by its own most telling sentences; ask me what you said before and I repeat it. I use a tool when a message asks for it in plain words, such as “what is 12.5% of 8,431?”, “what time is it in Tokyo?”, or “read https://example.com and sum it up”. For real answers, whoever runs this service connects a language model: OPENAI_BASE_URL (and OPENAI_API_KEY) names a server, PARLEY_MODELS_FILE names several.","annotations":[],"logprobs":[]}]}');
INSERT INTO public.items VALUES ('01a205ae-5761-706e-a21e-ae779af81cc3', 'input', 0, '01a205ae-575b-740e-8796-dd137a3ce113', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '{"id":"01a205ae-575b-740e-8796-dd137a3ce113","type":"message","role":"user","content":[{"type":"input_text","text":"And the number 41."}]}');
INSERT INTO public.items VALUES ('01a205ae-5761-706e-a21e-ae779af81cc3', 'output', 0, '01a205ae-576c-759c-ac54-c8a19b392b7f', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '{"id":"01a205ae-576c-759c-ac54-c8a19b392b7f","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"You asked: “And the number 41.”\n\nI can''t answer that. I am parley-offline, a small program that is built into this service. I am not a language model: I don''t understand what you write, and I know nothing of the world. Give me a text of some length and I sum it up by its own most telling sentences; ask me what you said before and I repeat it. I use a tool when a message asks for it in plain words, such as “what is 12.5% of 8,431?”, “what time is it in Tokyo?”, or “read https://example.com and sum it up”. For real answers, whoever runs this service connects a language model: OPENAI_BASE_URL (and OPENAI_API_KEY) names a server, PARLEY_MODELS_FILE names several.","annotations":[],"logprobs":[]}]}');
INSERT INTO public.organizations VALUES ('01a205ae-324b-7790-b5a5-444df3aea43f', 'default', 'default', '2026-11-22 23:53:51.913724+00');
INSERT INTO public.organizations VALUES ('01a205ae-373d-72d4-b68e-5d1038577801', 'Fixture Ltd', 'default', '2026-11-22 23:53:53.214194+00');
INSERT INTO public.project_files VALUES ('01a205ae-4bdf-779c-a82a-f0c948ca736b', '01a205ae-502a-72ce-8963-e1aa7b2bb6ff', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 'indexed', NULL, 1, '2/1', NULL, '2026-11-22 23:53:59.716925+00');
INSERT INTO public.project_members VALUES ('01a205ae-4bdf-779c-a82a-f0c948ca736b', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 'owner', '2026-11-22 23:53:58.995714+00');
INSERT INTO public.projects VALUES ('01a205ae-4bdf-779c-a82a-f0c948ca736b', '01a205ae-373d-72d4-b68e-5d1038577801', 'Birds', '2026-11-22 23:53:58.495475+00');
INSERT INTO public.retrieval_files VALUES ('01a205ae-4bdf-779c-a82a-f0c948ca736b', '01a205ae-502a-72ce-8963-e1aa7b2bb6ff', 1, 'heron.md', 'english', 0, 1, 10, NULL, NULL, NULL, 0);
INSERT INTO public.retrieval_indexes OVERRIDING SYSTEM VALUE VALUES (1, '01a205ae-4bdf-779c-a82a-f0c948ca736b', 1, 1, 10, '{english}');
INSERT INTO public.retrieval_passages VALUES (1, 0, '01a205ae-4bdf-779c-a82a-f0c948ca736b', '01a205ae-502a-72ce-8963-e1aa7b2bb6ff', '{0}', '{88}', '{0}', '[[]]', 0, 'The blue heron nests in the reeds behind the mill. Its name in the register is Grimaldi.');
INSERT INTO public.retrieval_postings VALUES (1, 'behind', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'blue', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'grimaldi', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'heron', 0, '{2058}');
INSERT INTO public.retrieval_postings VALUES (1, 'mill', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'name', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'nest', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'reed', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'regist', 0, '{1034}');
INSERT INTO public.token_counters VALUES ('01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '2026-11-22', 1718, 0, '2026-11-01', 1718, 0, 4912);
INSERT INTO public.token_limits VALUES ('01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 'daily', 1000000);
INSERT INTO public.turns VALUES ('01a205ae-5585-70d7-a185-2cef7845575b', '01a205ae-5581-7458-83ce-7bf4aa297b37', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 0, 'parley-offline', 215, '2026-11-22 23:54:01.395915+00');
INSERT INTO public.turns VALUES ('01a205ae-5761-706e-a21e-ae779af81cc3', '01a205ae-5581-7458-83ce-7bf4aa297b37', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', 1, 'parley-offline', 211, '2026-11-22 23:54:01.454179+00');
INSERT INTO public.usage_records VALUES ('01a205ae-5585-70d7-a185-2cef7845575b', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '01a205ae-373d-72d4-b68e-5d1038577801', '01a205ae-3a23-7789-9712-bc5ff94934b1', 'parley-offline', 598, 169, 'provider', 'completed', '2026-11-22 23:54:01.401+00', 0, 436);
INSERT INTO public.usage_records VALUES ('01a205ae-5761-706e-a21e-ae779af81cc3', '01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '01a205ae-373d-72d4-b68e-5d1038577801', '01a205ae-3a23-7789-9712-bc5ff94934b1', 'parley-offline', 781, 170, 'provider', 'completed', '2026-11-22 23:54:01.455+00', 0, 14);
INSERT INTO public.users VALUES ('01a205ae-3262-701c-af48-ec0c486b266d', '01a205ae-324b-7790-b5a5-444df3aea43f', 'admin@localhost', NULL, '2026-11-22 23:53:51.913724+00');
INSERT INTO public.users VALUES ('01a205ae-3a21-747a-a9a0-7edf51c7d2a1', '01a205ae-373d-72d4-b68e-5d1038577801', 'ada@example.com', NULL, '2026-11-22 23:53:53.952851+00');
INSERT INTO public.users VALUES ('01a205ae-3e02-7227-afd6-16f3963e25b8', '01a205ae-373d-72d4-b68e-5d1038577801', 'bob@example.com', NULL, '2026-11-22 23:53:54.953443+00');
SELECT pg_catalog.setval('public.file_jobs_sequence_seq', 2, true);
SELECT pg_catalog.setval('public.index_jobs_sequence_seq', 1, true);
SELECT pg_catalog.setval('public.retrieval_indexes_id_seq', 1, true);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.effect_sql_migrations
    ADD CONSTRAINT effect_sql_migrations_pkey PRIMARY KEY (migration_id);
ALTER TABLE ONLY public.file_blob_pieces
    ADD CONSTRAINT file_blob_pieces_pkey PRIMARY KEY (key, "position");
ALTER TABLE ONLY public.file_blobs
    ADD CONSTRAINT file_blobs_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.file_jobs_migrations
    ADD CONSTRAINT file_jobs_migrations_pkey PRIMARY KEY (migration_id);
ALTER TABLE ONLY public.file_jobs
    ADD CONSTRAINT file_jobs_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.file_store_replicas
    ADD CONSTRAINT file_store_replicas_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.file_texts
    ADD CONSTRAINT file_texts_pkey PRIMARY KEY (file_id);
ALTER TABLE ONLY public.file_usage
    ADD CONSTRAINT file_usage_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_storage_key_key UNIQUE (storage_key);
ALTER TABLE ONLY public.index_jobs_migrations
    ADD CONSTRAINT index_jobs_migrations_pkey PRIMARY KEY (migration_id);
ALTER TABLE ONLY public.index_jobs
    ADD CONSTRAINT index_jobs_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (response_id, side, "position");
ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_name_key UNIQUE (name);
ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.project_files
    ADD CONSTRAINT project_files_pkey PRIMARY KEY (project_id, file_id);
ALTER TABLE ONLY public.project_members
    ADD CONSTRAINT project_members_pkey PRIMARY KEY (project_id, user_id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.retrieval_embeddings
    ADD CONSTRAINT retrieval_embeddings_pkey PRIMARY KEY (index_id, "position", model);
ALTER TABLE ONLY public.retrieval_files
    ADD CONSTRAINT retrieval_files_pkey PRIMARY KEY (project_id, file_id);
ALTER TABLE ONLY public.retrieval_indexes
    ADD CONSTRAINT retrieval_indexes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.retrieval_indexes
    ADD CONSTRAINT retrieval_indexes_project_id_key UNIQUE (project_id);
ALTER TABLE ONLY public.retrieval_passages
    ADD CONSTRAINT retrieval_passages_pkey PRIMARY KEY (index_id, base);
ALTER TABLE ONLY public.retrieval_postings
    ADD CONSTRAINT retrieval_postings_pkey PRIMARY KEY (index_id, term, base);
ALTER TABLE ONLY public.token_counters
    ADD CONSTRAINT token_counters_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.token_limits
    ADD CONSTRAINT token_limits_pkey PRIMARY KEY (user_id, span);
ALTER TABLE ONLY public.token_reservations
    ADD CONSTRAINT token_reservations_pkey PRIMARY KEY (response_id, part);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_conversation_id_position_key UNIQUE (conversation_id, "position");
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (response_id);
ALTER TABLE ONLY public.usage_records
    ADD CONSTRAINT usage_records_pkey PRIMARY KEY (response_id);
ALTER TABLE public.usage_records
    ADD CONSTRAINT usage_records_source_check CHECK ((source = ANY (ARRAY['provider'::text, 'tokenizer'::text, 'estimate'::text]))) NOT VALID;
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
CREATE INDEX api_keys_user ON public.api_keys USING btree (user_id);
CREATE INDEX conversations_unused ON public.conversations USING btree (created_at) WHERE (hidden AND (turn_count = 0));
CREATE INDEX files_owner ON public.files USING btree (user_id, id);
CREATE INDEX files_uploaded ON public.files USING btree (created_at) WHERE (status = 'uploaded'::text);
CREATE UNIQUE INDEX idx_file_jobs_id ON public.file_jobs USING btree (id, queue_name);
CREATE INDEX idx_file_jobs_take ON public.file_jobs USING btree (queue_name, visible_at) WHERE ((state)::text = 'pending'::text);
CREATE INDEX idx_file_jobs_update ON public.file_jobs USING btree (sequence, acquired_by);
CREATE UNIQUE INDEX idx_index_jobs_id ON public.index_jobs USING btree (id, queue_name);
CREATE INDEX idx_index_jobs_take ON public.index_jobs USING btree (queue_name, visible_at) WHERE ((state)::text = 'pending'::text);
CREATE INDEX idx_index_jobs_update ON public.index_jobs USING btree (sequence, acquired_by);
CREATE INDEX items_id ON public.items USING btree (user_id, id);
CREATE INDEX project_files_file ON public.project_files USING btree (file_id);
CREATE INDEX project_files_pending ON public.project_files USING btree (project_id, file_id) WHERE (status = 'pending'::text);
CREATE INDEX project_members_user ON public.project_members USING btree (user_id);
CREATE UNIQUE INDEX projects_name ON public.projects USING btree (organization_id, lower(name));
CREATE INDEX retrieval_embeddings_passage ON public.retrieval_embeddings USING btree (index_id, base);
CREATE INDEX retrieval_files_index ON public.retrieval_files USING btree (index_id);
CREATE INDEX retrieval_passages_file ON public.retrieval_passages USING btree (project_id, file_id);
CREATE INDEX token_reservations_user ON public.token_reservations USING btree (user_id);
CREATE INDEX usage_records_time ON public.usage_records USING brin (created_at);
CREATE INDEX usage_records_user ON public.usage_records USING btree (user_id, created_at);
CREATE UNIQUE INDEX users_email ON public.users USING btree (lower(email));
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.file_blob_pieces
    ADD CONSTRAINT file_blob_pieces_key_fkey FOREIGN KEY (key) REFERENCES public.file_blobs(key) ON DELETE CASCADE;
ALTER TABLE ONLY public.file_texts
    ADD CONSTRAINT file_texts_file_id_fkey FOREIGN KEY (file_id) REFERENCES public.files(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.file_usage
    ADD CONSTRAINT file_usage_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_response_id_fkey FOREIGN KEY (response_id) REFERENCES public.turns(response_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_files
    ADD CONSTRAINT project_files_added_by_fkey FOREIGN KEY (added_by) REFERENCES public.users(id);
ALTER TABLE ONLY public.project_files
    ADD CONSTRAINT project_files_file_id_fkey FOREIGN KEY (file_id) REFERENCES public.files(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_files
    ADD CONSTRAINT project_files_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_members
    ADD CONSTRAINT project_members_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_members
    ADD CONSTRAINT project_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.retrieval_embeddings
    ADD CONSTRAINT retrieval_embeddings_index_id_base_fkey FOREIGN KEY (index_id, base) REFERENCES public.retrieval_passages(index_id, base) ON DELETE CASCADE;
ALTER TABLE ONLY public.retrieval_files
    ADD CONSTRAINT retrieval_files_index_id_fkey FOREIGN KEY (index_id) REFERENCES public.retrieval_indexes(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.retrieval_files
    ADD CONSTRAINT retrieval_files_project_id_file_id_fkey FOREIGN KEY (project_id, file_id) REFERENCES public.project_files(project_id, file_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.retrieval_indexes
    ADD CONSTRAINT retrieval_indexes_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.retrieval_passages
    ADD CONSTRAINT retrieval_passages_project_id_file_id_fkey FOREIGN KEY (project_id, file_id) REFERENCES public.retrieval_files(project_id, file_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.token_counters
    ADD CONSTRAINT token_counters_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.token_limits
    ADD CONSTRAINT token_limits_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.token_reservations
    ADD CONSTRAINT token_reservations_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.usage_records
    ADD CONSTRAINT usage_records_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.usage_records
    ADD CONSTRAINT usage_records_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
