
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.audit_id(at timestamp with time zone) RETURNS uuid
    LANGUAGE sql
    AS $$
    SELECT encode(
      substring(int8send(micros / 1000) FROM 3)
        || substring(int8send(x'7000'::int8 | (micros % 1000 * 4096 / 1000)) FROM 7)
        || substring(uuid_send(gen_random_uuid()) FROM 9),
      'hex')::uuid
    FROM (SELECT (extract(epoch FROM at) * 1000000)::int8 AS micros) AS time
  $$;
CREATE FUNCTION public.audit_log_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      RAISE EXCEPTION 'The audit log is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
    END
  $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.admin_keys (
    id uuid NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    hint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone
);
CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    hint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    kind text DEFAULT 'issued'::text NOT NULL,
    daily_tokens bigint,
    monthly_tokens bigint,
    requests_per_minute integer,
    CONSTRAINT api_keys_daily_tokens_check CHECK ((daily_tokens > 0)),
    CONSTRAINT api_keys_kind_check CHECK ((kind = ANY (ARRAY['issued'::text, 'web'::text]))),
    CONSTRAINT api_keys_monthly_tokens_check CHECK ((monthly_tokens > 0)),
    CONSTRAINT api_keys_requests_per_minute_check CHECK ((requests_per_minute > 0))
);
CREATE TABLE public.audit_counters (
    action text NOT NULL,
    subject text NOT NULL,
    hour timestamp with time zone NOT NULL,
    count bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.audit_installation (
    action text NOT NULL,
    name text NOT NULL,
    value text NOT NULL,
    salt bytea
);
CREATE TABLE public.audit_log (
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    actor_id uuid,
    actor_email text,
    origin text NOT NULL,
    address text,
    action text NOT NULL,
    target_type text NOT NULL,
    target_id text,
    target_name text NOT NULL,
    organization_id uuid,
    organization text,
    details jsonb NOT NULL,
    actor_name text,
    CONSTRAINT audit_log_actor_check CHECK ((actor = ANY (ARRAY['system'::text, 'operator'::text, 'person'::text]))),
    CONSTRAINT audit_log_origin_check CHECK ((origin = ANY (ARRAY['browser'::text, 'cli'::text, 'api'::text, 'server'::text])))
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
    name text NOT NULL,
    version text
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
    touched_at timestamp with time zone DEFAULT now() NOT NULL,
    trashed_at timestamp with time zone
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
CREATE TABLE public.file_store_binding (
    only_row boolean DEFAULT true NOT NULL,
    database_id uuid NOT NULL,
    store_id uuid,
    store_place text,
    bound_at timestamp with time zone,
    swept_at timestamp with time zone,
    generation integer DEFAULT 0 NOT NULL,
    store_kind text,
    old_store_place text,
    moved_at timestamp with time zone,
    CONSTRAINT file_store_binding_only_row_check CHECK (only_row)
);
CREATE TABLE public.file_store_replicas (
    id uuid NOT NULL,
    directory uuid NOT NULL,
    location text NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    move_to text
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
    expires_at timestamp with time zone,
    store_generation integer DEFAULT 0 NOT NULL,
    CONSTRAINT files_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT files_status_check CHECK ((status = ANY (ARRAY['uploaded'::text, 'processed'::text, 'error'::text])))
);
CREATE TABLE public.identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL,
    linked_at timestamp with time zone NOT NULL
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
CREATE UNLOGGED TABLE public.key_minutes (
    key_id uuid NOT NULL,
    began timestamp with time zone NOT NULL,
    requests integer NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.links (
    id uuid NOT NULL,
    hash bytea NOT NULL,
    kind text NOT NULL,
    user_id uuid,
    email text,
    organization_id uuid,
    role text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_by uuid,
    CONSTRAINT links_check CHECK (((kind = 'invitation'::text) = (user_id IS NULL))),
    CONSTRAINT links_check1 CHECK ((num_nulls(email, organization_id, role) =
CASE kind
    WHEN 'invitation'::text THEN 0
    ELSE 3
END)),
    CONSTRAINT links_kind_check CHECK ((kind = ANY (ARRAY['set_up'::text, 'invitation'::text, 'password_reset'::text]))),
    CONSTRAINT links_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'organization_admin'::text, 'member'::text])))
);
CREATE TABLE public.organizations (
    id uuid NOT NULL,
    name text NOT NULL,
    plan text DEFAULT 'default'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone
);
CREATE TABLE public.passwords (
    user_id uuid NOT NULL,
    hash text NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
CREATE TABLE public.project_files (
    project_id uuid NOT NULL,
    file_id uuid NOT NULL,
    added_by uuid,
    status text DEFAULT 'pending'::text NOT NULL,
    status_details text,
    chunks integer,
    index_version text,
    job uuid DEFAULT gen_random_uuid(),
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
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone
);
CREATE TABLE public.reload_requests (
    single boolean DEFAULT true NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT reload_requests_single_check CHECK (single)
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
    embedded_by text
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
CREATE TABLE public.sessions (
    id uuid NOT NULL,
    hash bytea NOT NULL,
    user_id uuid NOT NULL,
    method text NOT NULL,
    address text,
    user_agent text,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT sessions_method_check CHECK ((method = ANY (ARRAY['password'::text, 'link'::text, 'identity_provider'::text])))
)
WITH (fillfactor='80');
CREATE TABLE public.sign_in_attempts (
    subject bytea NOT NULL,
    level double precision NOT NULL,
    charged_at timestamp with time zone NOT NULL,
    blocked_until timestamp with time zone NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.sign_in_networks (
    user_id uuid NOT NULL,
    network text NOT NULL,
    signed_in_at timestamp with time zone NOT NULL
);
CREATE TABLE public.token_counters (
    owner_id uuid NOT NULL,
    day date NOT NULL,
    day_used bigint NOT NULL,
    day_reserved bigint DEFAULT 0 NOT NULL,
    month date NOT NULL,
    month_used bigint NOT NULL,
    month_reserved bigint DEFAULT 0 NOT NULL
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
    expires_at timestamp with time zone NOT NULL,
    key_id uuid
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
    user_id uuid,
    organization_id uuid NOT NULL,
    key_id uuid,
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
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    role text DEFAULT 'member'::text NOT NULL,
    last_sign_in_at timestamp with time zone,
    deleted_at timestamp with time zone,
    files_to uuid,
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'organization_admin'::text, 'member'::text])))
);
ALTER TABLE ONLY public.file_jobs ALTER COLUMN sequence SET DEFAULT nextval('public.file_jobs_sequence_seq'::regclass);
ALTER TABLE ONLY public.index_jobs ALTER COLUMN sequence SET DEFAULT nextval('public.index_jobs_sequence_seq'::regclass);
INSERT INTO public.api_keys VALUES ('01a2078a-30da-710f-8297-836cd007b54c', '01a2078a-30d3-7265-aa71-bc23ff0f10a4', 'first key', '\xd945f77eb8e0871de58a79a45195a8f9a547c8febe78f762109ec70c9586aa2a', '7RrW', '2026-11-23 08:33:46.69494+00', NULL, NULL, NULL, 'issued', NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('01a2078a-41c1-744f-b723-fd0d1154918b', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'old laptop', '\xa665a9d0a5f756b0982181534e4ed9084c684477615d77eb44ec2fffe3aee293', 'MRNb', '2026-11-23 08:33:51.04231+00', NULL, '2026-11-23 08:33:51.773+00', NULL, 'issued', NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('01a2078a-3a7f-702e-9ad7-e7bde230d597', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'initial key', '\x926fe60d3d42d4a925caddfe31406f2475b0235cb68a3ce2791cb8139fb57f62', 'kcmV', '2026-11-23 08:33:49.159224+00', NULL, NULL, '2026-11-23 08:33:56.723+00', 'issued', NULL, NULL, NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_DATA_DIR', '"/tmp/parley-record-Il9hPv"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_LOG_LEVEL', '"info"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_LOG_FORMAT', '"auto"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'HOST', '"127.0.0.1"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PORT', '"0"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_ADMIN_PORT', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_ADMIN_HOST', '"127.0.0.1"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BODY_BYTES_MAX', '"4194304"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BODIES_BYTES_MAX', '"268435456"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_USER_BODY_BYTES_MAX', '"67108864"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_USER_REQUESTS_MAX', '"32"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_USER_REQUESTS_PER_MINUTE', '"1200"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_USER_WAIT_SECONDS', '"5"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_REQUEST_SECONDS', '"60"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_HEADERS_SECONDS', '"20"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_WRITE_STALL_SECONDS', '"60"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SHUTDOWN_GRACE_SECONDS', '"20"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OPENAPI_PUBLIC', '"false"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_STREAM_BEGIN_SECONDS', '"15"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_KEEPALIVE_SECONDS', '"15"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'DATABASE_URL', '4fb2f0a7c7cf18a891a4e54df29ffdf15036d4930953dbf07bd77d61403eb366', '\xd484d5a1d288bfdaa80d053e8fda722c');
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_DATABASE_CONNECTIONS_MAX', '"10"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_DATABASE_CONNECT_SECONDS', '"5"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_DATABASE_STATEMENT_SECONDS', '"15"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_ADMIN_KEY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_INIT_API_KEY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_INIT_USER_EMAIL', '"admin@localhost"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_KEY_CACHE_SECONDS', '"5"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_PUBLIC_URL', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TRUSTED_PROXIES', '"none"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SESSION_IDLE_SECONDS', '"604800"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SESSION_SECONDS', '"2592000"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_ISSUER', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_CLIENT_ID', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_CLIENT_SECRET', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_NAME', '"single sign-on"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_SCOPES', '"openid,email"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_ALLOWED_DOMAINS', '"none"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_GROUPS', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_GROUPS_CLAIM', '"groups"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_ORGANIZATION', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OIDC_SECONDS', '"10"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_PLANS_FILE', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_LICENSE', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_LICENSE_PUBLIC_KEY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODELS_FILE', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'OPENAI_BASE_URL', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'OPENAI_API_KEY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'OPENAI_MODEL', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODEL_CONNECT_SECONDS', '"10"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODEL_FIRST_TOKEN_SECONDS', '"120"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODEL_IDLE_SECONDS', '"60"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODEL_REQUESTS_MAX', '"10000"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODEL_QUEUE_SECONDS', '"10"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODEL_RETRY_SECONDS', '"3"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MODEL_FALLBACK_SECONDS', '"10"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_ROUTER_BALANCE', '"50"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_DAILY_TOKENS', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_MONTHLY_TOKENS', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TOKEN_WAIT_SECONDS', '"5"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TURN_LEASE_SECONDS', '"30"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TURN_WAIT_SECONDS', '"120"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_CONVERSATION_DAYS', '"30"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FILES_STORE', '"postgres"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FILES_MOVE_TO', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FILES_DIRECTORY_SHARED', '"false"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FILES_TRASH_SECONDS', '"604800"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FILE_BYTES_MAX', '"536870912"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_USER_FILES_MAX', '"10000"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_USER_FILE_BYTES_MAX', '"10737418240"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_USER_UPLOADS_MAX', '"4"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_UPLOAD_SECONDS', '"3600"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FILE_WAIT_SECONDS', '"30"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EXTRACTION_SECONDS', '"30"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EXTRACTION_MEMORY_BYTES_MAX', '"536870912"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TEXT_BYTES_MAX', '"10485760"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EXTRACTIONS_MAX', '"2"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_S3_ENDPOINT', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_S3_REGION', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_S3_BUCKET', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_S3_PREFIX', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_S3_ACCESS_KEY_ID', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_S3_SECRET_ACCESS_KEY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_S3_RETRY_SECONDS', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BACKUP_EVERY_HOURS', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BACKUP_DIR', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BACKUP_KEEP', '"7"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BACKUP_PASSPHRASE', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BACKUP_RECIPIENT', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_BACKUP_IDENTITY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TOOLS', '"calculator,current_datetime,web_fetch,web_search"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TOOL_SECONDS', '"30"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SEARCH_PROVIDER', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SEARCH_URL', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SEARCH_API_KEY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SEARCH_SECONDS', '"10"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_SEARCH_RESULTS_MAX', '"8"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FETCH_SECONDS', '"20"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_FETCH_BYTES_MAX', '"5242880"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_WEB_FETCH_ADDRESSES', '"named"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_WEB_ALLOW_HOSTS', '"none"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_WEB_DENY_HOSTS', '"none"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EGRESS_ALLOW', '"none"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EMBEDDINGS_URL', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EMBEDDINGS_API_KEY', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EMBEDDINGS_MODEL', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_EMBEDDINGS_SECONDS', '"30"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_ACCESS_LOG', '"true"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_METRICS_TOKEN', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_METRICS_PORT', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_METRICS_HOST', '"127.0.0.1"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'OTEL_EXPORTER_OTLP_HEADERS', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_OTLP_SIGNALS', '"traces,logs,metrics"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'PARLEY_TRACE_SAMPLE', '"1"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'OTEL_SERVICE_NAME', '"parley"', NULL);
INSERT INTO public.audit_installation VALUES ('setting.change', 'OTEL_RESOURCE_ATTRIBUTES', 'null', NULL);
INSERT INTO public.audit_installation VALUES ('license.change', 'license', 'null', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-30ce-76e9-b08e-2de06446247e', '2026-11-23 08:33:46.702432+00', 'system', NULL, NULL, 'server', NULL, 'organization.create', 'organization', '01a2078a-30ca-724d-9213-8aa0d5498909', 'default', '01a2078a-30ca-724d-9213-8aa0d5498909', 'default', '{"plan": "default"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-30d7-7887-bf17-3235e52bbfcd', '2026-11-23 08:33:46.711533+00', 'system', NULL, NULL, 'server', NULL, 'user.create', 'user', '01a2078a-30d3-7265-aa71-bc23ff0f10a4', 'admin@localhost', '01a2078a-30ca-724d-9213-8aa0d5498909', 'default', '{"role": "owner"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-30de-7666-bdc8-20637de42075', '2026-11-23 08:33:46.7184+00', 'system', NULL, NULL, 'server', NULL, 'api_key.create', 'api_key', '01a2078a-30da-710f-8297-836cd007b54c', 'first key', '01a2078a-30ca-724d-9213-8aa0d5498909', 'default', '{"hint": "7RrW", "user": "admin@localhost", "expires_at": null}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-30f2-78c8-9887-08f740fff714', '2026-11-23 08:33:46.738549+00', 'system', NULL, NULL, 'server', NULL, 'link.create', 'link', '01a2078a-30eb-710c-8658-2dd32de1c1bd', 'admin@localhost', '01a2078a-30ca-724d-9213-8aa0d5498909', 'default', '{"kind": "set_up", "role": "owner", "expires_at": "2026-11-23T09:03:46.731Z"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-3655-7785-9705-04b404712900', '2026-11-23 08:33:48.11747+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'organization.create', 'organization', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"plan": "default"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-3a77-7e3d-8dbe-6014c760b4a1', '2026-11-23 08:33:49.17589+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'user.create', 'user', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'ada@example.com', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"role": "member"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-3aa2-7795-a0c4-7624c4ec08e1', '2026-11-23 08:33:49.218474+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'api_key.create', 'api_key', '01a2078a-3a7f-702e-9ad7-e7bde230d597', 'initial key', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"hint": "kcmV", "user": "ada@example.com", "expires_at": null}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-3eb3-745a-a1d8-421e96eab8f6', '2026-11-23 08:33:50.259272+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'user.create', 'user', '01a2078a-3ea0-72f4-8fc9-65195f0c7a3a', 'bob@example.com', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"role": "member"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-41c5-74a7-88c2-2cff373cc0eb', '2026-11-23 08:33:51.045291+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'api_key.create', 'api_key', '01a2078a-41c1-744f-b723-fd0d1154918b', 'old laptop', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"hint": "MRNb", "user": "ada@example.com", "expires_at": null}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-44a3-7e24-bb38-a66c55828c76', '2026-11-23 08:33:51.779884+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'api_key.revoke', 'api_key', '01a2078a-41c1-744f-b723-fd0d1154918b', 'old laptop', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"hint": "MRNb", "user": "ada@example.com", "expires_at": null}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-474a-7ff7-8c69-4f48eb5334ce', '2026-11-23 08:33:52.458998+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'user.limits', 'user', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'ada@example.com', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"daily": {"new": 1000000, "old": "default"}}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-4ac1-7697-8dc5-97a619bd2769', '2026-11-23 08:33:53.345412+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'file.upload', 'file', '01a2078a-4ab4-7454-93ef-be9f56c10011', 'heron.md', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"owner": "ada@example.com"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-4d07-7610-80a8-59eea52b4555', '2026-11-23 08:33:53.927379+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'project.create', 'project', '01a2078a-4d00-7682-8265-5a868a312d34', 'Birds', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-50b7-70f9-9bf9-c9163509a706', '2026-11-23 08:33:54.871061+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'project.member_add', 'project', '01a2078a-4d00-7682-8265-5a868a312d34', 'Birds', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"role": "owner", "user": "ada@example.com"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-533e-7b06-8c83-81c1cfcd0d51', '2026-11-23 08:33:55.518689+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'file.upload', 'file', '01a2078a-5338-717f-9981-900eefe3900c', 'heron.md', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"owner": "ada@example.com"}', NULL);
INSERT INTO public.audit_log VALUES ('01a2078a-535c-7ea7-be73-48c974d70b28', '2026-11-23 08:33:55.548916+00', 'operator', NULL, NULL, 'cli', '127.0.0.1', 'project.file_add', 'project', '01a2078a-4d00-7682-8265-5a868a312d34', 'Birds', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', '{"owner": "ada@example.com", "file_id": "01a2078a-5338-717f-9981-900eefe3900c", "filename": "heron.md"}', NULL);
INSERT INTO public.conversations VALUES ('01a2078a-57ea-7545-8ed7-4f528ff8a3e2', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', true, NULL, 2, 4, NULL, '2026-11-23 08:33:56.718504+00', '2026-11-23 08:33:57.01546+00');
INSERT INTO public.effect_sql_migrations VALUES (1, '2026-11-23 08:33:45.784353+00', 'initial', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (2, '2026-11-23 08:33:45.784353+00', 'files', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (3, '2026-11-23 08:33:45.784353+00', 'projects', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (4, '2026-11-23 08:33:45.784353+00', 'retrieval', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (5, '2026-11-23 08:33:45.784353+00', 'embeddings', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (6, '2026-11-23 08:33:45.784353+00', 'allowances', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (7, '2026-11-23 08:33:45.784353+00', 'usage_source', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (8, '2026-11-23 08:33:45.784353+00', 'store_binding', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (10, '2026-11-23 08:33:45.784353+00', 'retention', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (12, '2026-11-23 08:33:45.784353+00', 'reading_turns', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (13, '2026-11-23 08:33:45.784353+00', 'job_queues', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (14, '2026-11-23 08:33:45.784353+00', 'audit', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (15, '2026-11-23 08:33:45.784353+00', 'accounts', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (16, '2026-11-23 08:33:45.784353+00', 'key_limits', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (17, '2026-11-23 08:33:45.784353+00', 'identities', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (18, '2026-11-23 08:33:45.784353+00', 'link_creators', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (19, '2026-11-23 08:33:45.784353+00', 'schema_versions', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (20, '2026-11-23 08:33:45.784353+00', 'deletion', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (21, '2026-11-23 08:33:45.784353+00', 'admin_keys', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (22, '2026-11-23 08:33:45.784353+00', 'file_moves', '0.2.0');
INSERT INTO public.effect_sql_migrations VALUES (23, '2026-11-23 08:33:45.784353+00', 'reload_requests', '0.2.0');
INSERT INTO public.file_blob_pieces VALUES ('01a2078a-4aaf-71f4-84f3-340b467412d7', 0, '\x54686520626c7565206865726f6e206e6573747320696e2074686520726565647320626568696e6420746865206d696c6c2e20497473206e616d6520696e20746865207265676973746572206973204772696d616c64692e0a');
INSERT INTO public.file_blob_pieces VALUES ('01a2078a-5335-7353-9deb-5942191fb7b1', 0, '\x54686520626c7565206865726f6e206e6573747320696e2074686520726565647320626568696e6420746865206d696c6c2e20497473206e616d6520696e20746865207265676973746572206973204772696d616c64692e0a');
INSERT INTO public.file_blobs VALUES ('01a2078a-4aaf-71f4-84f3-340b467412d7', 89, true, '2026-11-23 08:33:53.33118+00', NULL);
INSERT INTO public.file_blobs VALUES ('01a2078a-5335-7353-9deb-5942191fb7b1', 89, true, '2026-11-23 08:33:55.511641+00', NULL);
INSERT INTO public.file_jobs_migrations VALUES (1, '2026-11-23 08:33:45.784353+00', 'create_table');
INSERT INTO public.file_jobs_migrations VALUES (2, '2026-11-23 08:33:45.784353+00', 'upgrade_schema');
INSERT INTO public.file_store_binding VALUES (true, '32bc4285-0059-4fc5-907e-27e21129c101', '32bc4285-0059-4fc5-907e-27e21129c101', 'the database', NULL, '2026-11-23 08:33:46.520177+00', 0, 'postgres', NULL, NULL);
INSERT INTO public.file_texts VALUES ('01a2078a-4ab4-7454-93ef-be9f56c10011', '7', 'The blue heron nests in the reeds behind the mill. Its name in the register is Grimaldi.
', false, NULL, '2026-11-23 08:33:53.338763+00');
INSERT INTO public.file_texts VALUES ('01a2078a-5338-717f-9981-900eefe3900c', '7', 'The blue heron nests in the reeds behind the mill. Its name in the register is Grimaldi.
', false, NULL, '2026-11-23 08:33:55.515099+00');
INSERT INTO public.file_usage VALUES ('01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 2, 178);
INSERT INTO public.files VALUES ('01a2078a-4ab4-7454-93ef-be9f56c10011', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'heron.md', 'assistants', 89, '\x8588b4458b17cb061a6d7ed1fc47734dccfbc55402109db128605bd60432282a', '01a2078a-4aaf-71f4-84f3-340b467412d7', 'processed', NULL, 'text/markdown', '2026-11-23 08:33:53.332+00', NULL, 0);
INSERT INTO public.files VALUES ('01a2078a-5338-717f-9981-900eefe3900c', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'heron.md', 'assistants', 89, '\x8588b4458b17cb061a6d7ed1fc47734dccfbc55402109db128605bd60432282a', '01a2078a-5335-7353-9deb-5942191fb7b1', 'processed', NULL, 'text/markdown', '2026-11-23 08:33:55.512+00', NULL, 0);
INSERT INTO public.index_jobs VALUES (1, 'f341fa40-d15b-4003-970a-362042630ff8', 'indexing', '{"projectId":"01a2078a-4d00-7682-8265-5a868a312d34","fileId":"01a2078a-5338-717f-9981-900eefe3900c","job":"f341fa40-d15b-4003-970a-362042630ff8"}', 1, NULL, NULL, NULL, '2026-11-23 08:33:55.541925', '2026-11-23 08:33:55.597808', 'completed', '2026-11-23 08:33:55.541925');
INSERT INTO public.index_jobs_migrations VALUES (1, '2026-11-23 08:33:45.784353+00', 'create_table');
INSERT INTO public.index_jobs_migrations VALUES (2, '2026-11-23 08:33:45.784353+00', 'upgrade_schema');
INSERT INTO public.items VALUES ('01a2078a-57f3-73e6-9c62-d9eb34e890e6', 'input', 0, '01a2078a-57e9-7145-80d7-d1cbcc5b7189', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '{"id":"01a2078a-57e9-7145-80d7-d1cbcc5b7189","type":"message","role":"user","content":[{"type":"input_text","text":"Remember the word cobalt."}]}');
INSERT INTO public.items VALUES ('01a2078a-57f3-73e6-9c62-d9eb34e890e6', 'output', 0, '01a2078a-58da-72a5-abda-876082625c6e', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '{"id":"01a2078a-58da-72a5-abda-876082625c6e","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I am parley-offline, the demo model of this service: a small program, and not a language model. I call a tool when a message plainly asks for it (“what is 12.5% of 8,431?”, “what time is it in Tokyo?”, a URL, “search for lighthouses”), I quote passages of a project''s files, and I repeat everything else. For real answers, the operator connects a language model: OPENAI_BASE_URL (and OPENAI_API_KEY) or PARLEY_MODELS_FILE.\n\nYou wrote:\n\nRemember the word cobalt.","annotations":[],"logprobs":[]}]}');
INSERT INTO public.items VALUES ('01a2078a-5902-7319-b598-ecfe92b59c4f', 'input', 0, '01a2078a-58f5-734f-a958-fa5223f6b215', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '{"id":"01a2078a-58f5-734f-a958-fa5223f6b215","type":"message","role":"user","content":[{"type":"input_text","text":"And the number 41."}]}');
INSERT INTO public.items VALUES ('01a2078a-5902-7319-b598-ecfe92b59c4f', 'output', 0, '01a2078a-5911-7537-9143-a36e1a2e3e8a', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '{"id":"01a2078a-5911-7537-9143-a36e1a2e3e8a","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I am parley-offline, the demo model of this service: a small program, and not a language model. I call a tool when a message plainly asks for it (“what is 12.5% of 8,431?”, “what time is it in Tokyo?”, a URL, “search for lighthouses”), I quote passages of a project''s files, and I repeat everything else. For real answers, the operator connects a language model: OPENAI_BASE_URL (and OPENAI_API_KEY) or PARLEY_MODELS_FILE.\n\nYou wrote:\n\nAnd the number 41.","annotations":[],"logprobs":[]}]}');
INSERT INTO public.links VALUES ('01a2078a-30eb-710c-8658-2dd32de1c1bd', '\xaf33d29a9e887cdb3bae787b594add27e7c25572de2001044fbbb9be7d8bb2ae', 'set_up', '01a2078a-30d3-7265-aa71-bc23ff0f10a4', NULL, NULL, NULL, '2026-11-23 08:33:46.731+00', '2026-11-23 09:03:46.731+00', NULL);
INSERT INTO public.organizations VALUES ('01a2078a-30ca-724d-9213-8aa0d5498909', 'default', 'default', '2026-11-23 08:33:46.69494+00', NULL);
INSERT INTO public.organizations VALUES ('01a2078a-3652-72c0-bab0-f09c9073e503', 'Fixture Ltd', 'default', '2026-11-23 08:33:48.115035+00', NULL);
INSERT INTO public.project_files VALUES ('01a2078a-4d00-7682-8265-5a868a312d34', '01a2078a-5338-717f-9981-900eefe3900c', NULL, 'indexed', NULL, 1, '7/1', NULL, '2026-11-23 08:33:55.541925+00');
INSERT INTO public.project_members VALUES ('01a2078a-4d00-7682-8265-5a868a312d34', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'owner', '2026-11-23 08:33:54.83635+00');
INSERT INTO public.projects VALUES ('01a2078a-4d00-7682-8265-5a868a312d34', '01a2078a-3652-72c0-bab0-f09c9073e503', 'Birds', '2026-11-23 08:33:53.921346+00', NULL);
INSERT INTO public.retrieval_files VALUES ('01a2078a-4d00-7682-8265-5a868a312d34', '01a2078a-5338-717f-9981-900eefe3900c', 1, 'heron.md', 'english', 0, 1, 10, NULL, NULL);
INSERT INTO public.retrieval_indexes OVERRIDING SYSTEM VALUE VALUES (1, '01a2078a-4d00-7682-8265-5a868a312d34', 1, 1, 10, '{english}');
INSERT INTO public.retrieval_passages VALUES (1, 0, '01a2078a-4d00-7682-8265-5a868a312d34', '01a2078a-5338-717f-9981-900eefe3900c', '{0}', '{88}', '{0}', '[[]]', 0, 'The blue heron nests in the reeds behind the mill. Its name in the register is Grimaldi.');
INSERT INTO public.retrieval_postings VALUES (1, 'behind', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'blue', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'grimaldi', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'heron', 0, '{2058}');
INSERT INTO public.retrieval_postings VALUES (1, 'mill', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'name', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'nest', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'reed', 0, '{1034}');
INSERT INTO public.retrieval_postings VALUES (1, 'regist', 0, '{1034}');
INSERT INTO public.token_counters VALUES ('01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '2026-11-23', 1615, 0, '2026-11-01', 1615, 0);
INSERT INTO public.token_limits VALUES ('01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 'daily', 1000000);
INSERT INTO public.turns VALUES ('01a2078a-57f3-73e6-9c62-d9eb34e890e6', '01a2078a-57ea-7545-8ed7-4f528ff8a3e2', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 0, 'parley-offline', 207, '2026-11-23 08:33:56.957604+00');
INSERT INTO public.turns VALUES ('01a2078a-5902-7319-b598-ecfe92b59c4f', '01a2078a-57ea-7545-8ed7-4f528ff8a3e2', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', 1, 'parley-offline', 206, '2026-11-23 08:33:57.01546+00');
INSERT INTO public.usage_records VALUES ('01a2078a-57f3-73e6-9c62-d9eb34e890e6', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '01a2078a-3652-72c0-bab0-f09c9073e503', '01a2078a-3a7f-702e-9ad7-e7bde230d597', 'parley-offline', 623, 118, 'provider', 'completed', '2026-11-23 08:33:56.96+00', 0, 238);
INSERT INTO public.usage_records VALUES ('01a2078a-5902-7319-b598-ecfe92b59c4f', '01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '01a2078a-3652-72c0-bab0-f09c9073e503', '01a2078a-3a7f-702e-9ad7-e7bde230d597', 'parley-offline', 755, 119, 'provider', 'completed', '2026-11-23 08:33:57.019+00', 0, 25);
INSERT INTO public.users VALUES ('01a2078a-30d3-7265-aa71-bc23ff0f10a4', '01a2078a-30ca-724d-9213-8aa0d5498909', 'admin@localhost', NULL, '2026-11-23 08:33:46.69494+00', 'owner', NULL, NULL, NULL);
INSERT INTO public.users VALUES ('01a2078a-3a6c-731a-87e4-8be4efbd2aa8', '01a2078a-3652-72c0-bab0-f09c9073e503', 'ada@example.com', NULL, '2026-11-23 08:33:49.159224+00', 'member', NULL, NULL, NULL);
INSERT INTO public.users VALUES ('01a2078a-3ea0-72f4-8fc9-65195f0c7a3a', '01a2078a-3652-72c0-bab0-f09c9073e503', 'bob@example.com', NULL, '2026-11-23 08:33:50.240839+00', 'member', NULL, NULL, NULL);
SELECT pg_catalog.setval('public.file_jobs_sequence_seq', 1, false);
SELECT pg_catalog.setval('public.index_jobs_sequence_seq', 1, true);
SELECT pg_catalog.setval('public.retrieval_indexes_id_seq', 1, true);
ALTER TABLE ONLY public.admin_keys
    ADD CONSTRAINT admin_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.admin_keys
    ADD CONSTRAINT admin_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_counters
    ADD CONSTRAINT audit_counters_pkey PRIMARY KEY (action, subject);
ALTER TABLE ONLY public.audit_installation
    ADD CONSTRAINT audit_installation_pkey PRIMARY KEY (action, name);
ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.file_store_binding
    ADD CONSTRAINT file_store_binding_pkey PRIMARY KEY (only_row);
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
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_id_issuer_key UNIQUE (user_id, issuer);
ALTER TABLE ONLY public.index_jobs_migrations
    ADD CONSTRAINT index_jobs_migrations_pkey PRIMARY KEY (migration_id);
ALTER TABLE ONLY public.index_jobs
    ADD CONSTRAINT index_jobs_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (response_id, side, "position");
ALTER TABLE ONLY public.key_minutes
    ADD CONSTRAINT key_minutes_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_name_key UNIQUE (name);
ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.project_files
    ADD CONSTRAINT project_files_pkey PRIMARY KEY (project_id, file_id);
ALTER TABLE ONLY public.project_members
    ADD CONSTRAINT project_members_pkey PRIMARY KEY (project_id, user_id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reload_requests
    ADD CONSTRAINT reload_requests_pkey PRIMARY KEY (single);
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
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sign_in_attempts
    ADD CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (subject);
ALTER TABLE ONLY public.sign_in_networks
    ADD CONSTRAINT sign_in_networks_pkey PRIMARY KEY (user_id, network);
ALTER TABLE ONLY public.token_counters
    ADD CONSTRAINT token_counters_pkey PRIMARY KEY (owner_id);
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
CREATE UNIQUE INDEX admin_keys_name ON public.admin_keys USING btree (lower(name)) WHERE (revoked_at IS NULL);
CREATE INDEX api_keys_user ON public.api_keys USING btree (user_id);
CREATE UNIQUE INDEX api_keys_web ON public.api_keys USING btree (user_id) WHERE (kind = 'web'::text);
CREATE INDEX audit_log_action ON public.audit_log USING btree (action, id);
CREATE INDEX audit_log_actor ON public.audit_log USING btree (lower(COALESCE(actor_email, actor)), id);
CREATE INDEX audit_log_actor_name ON public.audit_log USING btree (lower(actor_name), id) WHERE (actor_name IS NOT NULL);
CREATE INDEX audit_log_organization ON public.audit_log USING btree (organization_id, id);
CREATE INDEX audit_log_target ON public.audit_log USING btree (target_type, target_id, id);
CREATE INDEX conversations_idle ON public.conversations USING btree (updated_at) WHERE hidden;
CREATE INDEX conversations_owner ON public.conversations USING btree (user_id, id);
CREATE INDEX conversations_unused ON public.conversations USING btree (created_at) WHERE (hidden AND (turn_count = 0));
CREATE INDEX files_expiring ON public.files USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX files_owner ON public.files USING btree (user_id, id);
CREATE INDEX files_unread ON public.files USING btree (user_id, id) WHERE (status = 'uploaded'::text);
CREATE INDEX files_uploaded ON public.files USING btree (created_at) WHERE (status = 'uploaded'::text);
CREATE UNIQUE INDEX idx_file_jobs_id ON public.file_jobs USING btree (id, queue_name);
CREATE INDEX idx_file_jobs_take ON public.file_jobs USING btree (queue_name, visible_at) WHERE ((state)::text = 'pending'::text);
CREATE INDEX idx_file_jobs_update ON public.file_jobs USING btree (sequence, acquired_by);
CREATE UNIQUE INDEX idx_index_jobs_id ON public.index_jobs USING btree (id, queue_name);
CREATE INDEX idx_index_jobs_take ON public.index_jobs USING btree (queue_name, visible_at) WHERE ((state)::text = 'pending'::text);
CREATE INDEX idx_index_jobs_update ON public.index_jobs USING btree (sequence, acquired_by);
CREATE INDEX items_id ON public.items USING btree (user_id, id);
CREATE INDEX links_creator ON public.links USING btree (created_by) WHERE (created_by IS NOT NULL);
CREATE INDEX links_expiry ON public.links USING btree (expires_at);
CREATE UNIQUE INDEX links_invitation ON public.links USING btree (lower(email), organization_id) WHERE (kind = 'invitation'::text);
CREATE UNIQUE INDEX links_user ON public.links USING btree (user_id, kind);
CREATE INDEX project_files_file ON public.project_files USING btree (file_id);
CREATE INDEX project_files_pending ON public.project_files USING btree (project_id, file_id) WHERE (status = 'pending'::text);
CREATE INDEX project_members_user ON public.project_members USING btree (user_id);
CREATE UNIQUE INDEX projects_name ON public.projects USING btree (organization_id, lower(name));
CREATE INDEX retrieval_embeddings_passage ON public.retrieval_embeddings USING btree (index_id, base);
CREATE INDEX retrieval_files_index ON public.retrieval_files USING btree (index_id);
CREATE INDEX retrieval_passages_file ON public.retrieval_passages USING btree (project_id, file_id);
CREATE INDEX sessions_user ON public.sessions USING btree (user_id, created_at);
CREATE INDEX sign_in_attempts_charged ON public.sign_in_attempts USING btree (charged_at);
CREATE INDEX token_reservations_user ON public.token_reservations USING btree (user_id);
CREATE INDEX usage_records_time ON public.usage_records USING brin (created_at);
CREATE INDEX usage_records_user ON public.usage_records USING btree (user_id, created_at);
CREATE INDEX users_administrators ON public.users USING btree (id) WHERE (role = ANY (ARRAY['owner'::text, 'admin'::text]));
CREATE INDEX users_deleted ON public.users USING btree (id) WHERE (deleted_at IS NOT NULL);
CREATE UNIQUE INDEX users_email ON public.users USING btree (lower(email));
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.audit_log_is_append_only();
ALTER TABLE public.audit_log ENABLE ALWAYS TRIGGER append_only;
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
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_response_id_fkey FOREIGN KEY (response_id) REFERENCES public.turns(response_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.key_minutes
    ADD CONSTRAINT key_minutes_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
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
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sign_in_networks
    ADD CONSTRAINT sign_in_networks_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.token_limits
    ADD CONSTRAINT token_limits_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.token_reservations
    ADD CONSTRAINT token_reservations_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversations(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_files_to_fkey FOREIGN KEY (files_to) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
