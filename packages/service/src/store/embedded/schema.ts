/** The schema that this build writes; older ones are migrated on opening for writing. */
export const SCHEMA_VERSION = 1

/**
 * Every table's rows carry a checksum (`sum`) over their own columns, see `row-sum.ts`; bodies of
 * chunks and log batches carry their own inside. Times are microseconds.
 *
 * - stream: one sequence of rows of one kind: the books or trades of an instrument, the samples of a
 *   metric. `next` is the first ordinal that is not yet in a chunk, `head` the newest sealed hash.
 * - chunk/body: the directory of chunks and their bytes, apart, so that the directory stays small.
 *   `form` tells sealed chunks from parts: rows that left the log but do not fill a chunk yet.
 * - log: what was appended and not yet packed into chunks, one body a batch.
 */
const VERSION_1 = `
CREATE TABLE stream (
  id INTEGER PRIMARY KEY,
  venue TEXT NOT NULL,
  market TEXT NOT NULL,
  key TEXT NOT NULL,
  kind INTEGER NOT NULL,
  metric TEXT NOT NULL,
  generation INTEGER NOT NULL,
  known_from INTEGER NOT NULL,
  known_to INTEGER,
  origin INTEGER NOT NULL,
  recorder TEXT NOT NULL,
  normalizer INTEGER NOT NULL,
  next INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  head BLOB NOT NULL,
  removed INTEGER NOT NULL,
  anchor BLOB NOT NULL,
  version INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX stream_by_name ON stream (venue, key, kind, metric, generation);
CREATE TABLE chunk (
  stream INTEGER NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  first_received INTEGER NOT NULL,
  last_received INTEGER NOT NULL,
  changes_before INTEGER NOT NULL,
  form INTEGER NOT NULL,
  body INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (stream, first)
) STRICT, WITHOUT ROWID;
CREATE TABLE body (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE log (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE market (
  id INTEGER PRIMARY KEY,
  venue TEXT NOT NULL,
  market TEXT NOT NULL,
  sort_time INTEGER NOT NULL,
  close_time INTEGER,
  series TEXT,
  event TEXT,
  asset TEXT,
  span TEXT,
  status TEXT,
  revisions INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX market_by_name ON market (venue, market);
CREATE INDEX market_by_time ON market (sort_time, venue, market);
CREATE TABLE revision (
  market INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  known_at INTEGER NOT NULL,
  journal INTEGER NOT NULL,
  body BLOB NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (market, ordinal)
) STRICT, WITHOUT ROWID;
CREATE TABLE gap (
  id INTEGER PRIMARY KEY,
  venue TEXT NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  start INTEGER NOT NULL,
  reason TEXT NOT NULL,
  finish INTEGER,
  source_start INTEGER,
  source_end INTEGER,
  after_sequence INTEGER NOT NULL,
  detail TEXT,
  journal INTEGER NOT NULL,
  end_journal INTEGER,
  sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX gap_by_name ON gap (venue, key, start, after_sequence, reason, scope);
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  venue TEXT NOT NULL,
  key TEXT NOT NULL,
  journal INTEGER NOT NULL,
  received INTEGER NOT NULL,
  code TEXT NOT NULL,
  detail TEXT NOT NULL,
  raw BLOB NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX quarantine_by_place ON quarantine (venue, journal, code, key);
`

// Step n brings a database of version n to n + 1; a released step is never edited.
const STEPS: readonly string[] = [VERSION_1]

/** Runs the steps that bring a database from a version to the newest, inside the opening transaction. */
export function migrate(from: number, run: (sql: string) => void): void {
  for (const step of STEPS.slice(from)) run(step)
}
