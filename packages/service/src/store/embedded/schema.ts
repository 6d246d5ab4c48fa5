import type { Progress } from '../store.ts'

/** The schema that this build writes; older ones are migrated on opening for writing. */
export const SCHEMA_VERSION = 10

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

/**
 * What lists and sums need, kept with every commit, so that no request reads all markets or instruments.
 * Everything here follows from the tables above; `recount.ts` fills it from them.
 *
 * - family: the markets that share venue, asset, window and status (kind 0) or venue, series and status
 *   (kind 1). A filter selects families; `longest` bounds the time from open to close.
 * - listing: the sort values of a market, indexed within its two families.
 * - day, day_gap: the books of a venue by UTC day and asset, and their closed gaps.
 * - extent: the first row of each kind, by asset, window and origin.
 * - unbroken: the instruments without an open gap.
 * - outage: the gaps that one journal record opened for one reason.
 */
const VERSION_2 = `
DROP INDEX market_by_time;
CREATE INDEX market_by_event ON market (event, venue) WHERE event IS NOT NULL;
CREATE INDEX stream_by_market ON stream (venue, market);
CREATE INDEX chunk_loose ON chunk (stream) WHERE form = 0;
CREATE INDEX gap_by_start ON gap (start, after_sequence, venue, key, reason, scope);
CREATE INDEX gap_by_venue ON gap (venue, start, after_sequence, key, reason, scope);
CREATE INDEX gap_open ON gap (venue, reason, key) WHERE finish IS NULL;
CREATE TABLE family (
  id INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  venue TEXT NOT NULL,
  asset TEXT NOT NULL,
  span TEXT NOT NULL,
  series TEXT NOT NULL,
  status TEXT NOT NULL,
  endless INTEGER NOT NULL,
  longest INTEGER NOT NULL,
  markets INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX family_by_name ON family (kind, venue, asset, span, series, status, endless);
CREATE INDEX family_by_series ON family (series) WHERE kind = 1;
CREATE TABLE listing (
  id INTEGER PRIMARY KEY,
  family INTEGER NOT NULL,
  line INTEGER,
  name TEXT NOT NULL,
  open INTEGER NOT NULL,
  close INTEGER,
  volume REAL,
  liquidity REAL
) STRICT;
CREATE INDEX listing_open ON listing (family, open, name);
CREATE INDEX listing_close ON listing (family, close, name);
CREATE INDEX listing_volume ON listing (family, volume, name);
CREATE INDEX listing_liquidity ON listing (family, liquidity, name);
CREATE INDEX line_open ON listing (line, open, name) WHERE line IS NOT NULL;
CREATE INDEX line_close ON listing (line, close, name) WHERE line IS NOT NULL;
CREATE INDEX line_volume ON listing (line, volume, name) WHERE line IS NOT NULL;
CREATE INDEX line_liquidity ON listing (line, liquidity, name) WHERE line IS NOT NULL;
CREATE TABLE day (
  venue TEXT NOT NULL,
  day INTEGER NOT NULL,
  asset TEXT NOT NULL,
  markets INTEGER NOT NULL,
  instruments INTEGER NOT NULL,
  observations INTEGER NOT NULL,
  observed INTEGER NOT NULL,
  last INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (venue, day, asset)
) STRICT, WITHOUT ROWID;
CREATE TABLE day_gap (
  venue TEXT NOT NULL,
  day INTEGER NOT NULL,
  asset TEXT NOT NULL,
  reason TEXT NOT NULL,
  gaps INTEGER NOT NULL,
  micros INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (venue, day, asset, reason)
) STRICT, WITHOUT ROWID;
CREATE TABLE extent (
  venue TEXT NOT NULL,
  kind INTEGER NOT NULL,
  metric TEXT NOT NULL,
  asset TEXT NOT NULL,
  span TEXT NOT NULL,
  origin INTEGER NOT NULL,
  streams INTEGER NOT NULL,
  first INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (venue, kind, metric, asset, span, origin)
) STRICT, WITHOUT ROWID;
CREATE TABLE unbroken (
  venue TEXT NOT NULL,
  key TEXT NOT NULL,
  market TEXT NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (venue, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE outage (
  venue TEXT NOT NULL,
  reason TEXT NOT NULL,
  journal INTEGER NOT NULL,
  start INTEGER NOT NULL,
  finish INTEGER NOT NULL,
  books INTEGER NOT NULL,
  open INTEGER NOT NULL,
  held INTEGER NOT NULL,
  detail TEXT,
  sum INTEGER NOT NULL,
  PRIMARY KEY (venue, reason, journal)
) STRICT, WITHOUT ROWID;
CREATE INDEX outage_by_start ON outage (venue, start);
CREATE INDEX outage_open ON outage (venue) WHERE open > 0;
`

/**
 * - sealed: chunks that were sealed and are not yet noted for the root of their day; see `sealed-queue.ts`.
 * - parity: what contradicts itself in the books of a market, by UTC day; see `parity.ts`. `journal` is the
 *   last record that was counted.
 */
const VERSION_3 = `
CREATE TABLE sealed (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, first INTEGER NOT NULL) STRICT;
INSERT INTO sealed (stream, first) SELECT stream, first FROM chunk WHERE form = 2;
CREATE TABLE parity (
  day INTEGER NOT NULL,
  venue TEXT NOT NULL,
  market TEXT NOT NULL,
  journal INTEGER NOT NULL,
  sum_off INTEGER NOT NULL,
  complement_crossed INTEGER NOT NULL,
  locked INTEGER NOT NULL,
  off_tick INTEGER NOT NULL,
  out_of_bounds INTEGER NOT NULL,
  crossed INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (day, venue, market)
) STRICT, WITHOUT ROWID;
CREATE INDEX parity_by_market ON parity (venue, market, day);
`

/**
 * - revision_cut: the first version of a market that retention left. It is stored whole, or stands at a
 *   place where versions are stored whole anyway.
 */
const VERSION_4 = `
CREATE TABLE revision_cut (
  market INTEGER PRIMARY KEY,
  first INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
`

/**
 * What searches need, and indexes by which lists of gaps read what they return.
 *
 * - gap_open, gap_closed: gaps by reason and start; gap_long: those of more than a day, by end.
 * - listing.text: what a search looks in, see `words.ts`.
 * - word, posting: every word of a text, and the markets that have it, by open time.
 * - word_part: three characters of a word each, by which words are found that contain them.
 */
const VERSION_5 = `
DROP INDEX gap_by_start;
DROP INDEX gap_open;
CREATE INDEX gap_open ON gap (venue, reason, start, after_sequence, key, scope) WHERE finish IS NULL;
CREATE INDEX gap_closed ON gap (venue, reason, start, after_sequence, key, scope) WHERE finish IS NOT NULL;
CREATE INDEX gap_long ON gap (venue, finish) WHERE finish - start > 86400000000;
ALTER TABLE listing ADD COLUMN text TEXT NOT NULL DEFAULT '';
DELETE FROM state WHERE name GLOB 'fact:passed:*' AND value = 0;
DELETE FROM state WHERE name GLOB 'fact:passed_channel:*'
  AND NOT EXISTS (SELECT 1 FROM state mark WHERE mark.name = 'fact:passed:' || substr(state.name, 21));
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX word_by_text ON word (text);
CREATE TABLE word_part (
  part TEXT NOT NULL,
  word INTEGER NOT NULL,
  PRIMARY KEY (part, word)
) STRICT, WITHOUT ROWID;
CREATE TABLE posting (
  word INTEGER NOT NULL,
  open INTEGER NOT NULL,
  market INTEGER NOT NULL,
  PRIMARY KEY (word, open, market)
) STRICT, WITHOUT ROWID;
`

/** Lists of a range of time, and those sorted by volume within one, read only the index. */
const VERSION_6 = `
DROP INDEX listing_open;
DROP INDEX line_open;
CREATE INDEX listing_open ON listing (family, open, name, close, volume, liquidity);
CREATE INDEX line_open ON listing (line, open, name, close, volume, liquidity) WHERE line IS NOT NULL;
`

/**
 * - segment: a file of chunks in other storage. cold: where in it the bytes of a chunk are that left the
 *   database; see `cold/`.
 */
const VERSION_7 = `
CREATE TABLE segment (
  id INTEGER PRIMARY KEY,
  address TEXT NOT NULL,
  name TEXT NOT NULL,
  size INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  hash BLOB NOT NULL,
  made INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  unused INTEGER,
  sum INTEGER NOT NULL
) STRICT;
CREATE TABLE cold (
  body INTEGER PRIMARY KEY,
  segment INTEGER NOT NULL,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  hash BLOB NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX segment_by_name ON segment (name, address);
CREATE INDEX cold_by_segment ON cold (segment, start);
CREATE INDEX chunk_by_body ON chunk (body);
`

/**
 * What lists by category, tag and event need. Lists are made again from the records, see `recount.ts`.
 *
 * - family.category: as the venue writes it, empty where there is none. Families of kinds 2 and 3 are those of
 *   events: by asset, category and whether a market is open (`status`), or by series.
 * - listing.tags: in lower case; each is a word with a mark before it, see `words.ts`. `live` is 1 for an
 *   open market.
 * - event: the markets that share a venue's event. `facts` are those of the record of market `source`, the
 *   newest of them; `open` is the first open time, `close` the last close time or null where a market has
 *   none, `live` the number of open markets. event_posting is to events what posting is to markets.
 */
const VERSION_8 = `
DROP INDEX market_by_event;
DROP INDEX family_by_name;
DELETE FROM family;
DELETE FROM listing;
DELETE FROM state WHERE name IN ('searchable', 'recounting', 'recounted');
ALTER TABLE family ADD COLUMN category TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX family_by_name ON family (kind, venue, asset, span, series, category, status, endless);
CREATE INDEX family_of_events ON family (series) WHERE kind = 3;
ALTER TABLE listing ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE listing ADD COLUMN event INTEGER;
ALTER TABLE listing ADD COLUMN live INTEGER NOT NULL DEFAULT 0;
CREATE INDEX listing_event ON listing (event, family, open, name) WHERE event IS NOT NULL;
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  venue TEXT NOT NULL,
  name TEXT NOT NULL,
  family INTEGER NOT NULL,
  line INTEGER,
  open INTEGER NOT NULL,
  close INTEGER,
  markets INTEGER NOT NULL,
  live INTEGER NOT NULL,
  asset TEXT NOT NULL,
  source INTEGER NOT NULL,
  facts TEXT NOT NULL,
  text TEXT NOT NULL,
  tags TEXT NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_by_name ON event (name, venue);
CREATE INDEX event_open ON event (family, open, name);
CREATE INDEX event_close ON event (family, close, name);
CREATE INDEX event_line_open ON event (line, open, name) WHERE line IS NOT NULL;
CREATE INDEX event_line_close ON event (line, close, name) WHERE line IS NOT NULL;
CREATE TABLE event_posting (
  word INTEGER NOT NULL,
  open INTEGER NOT NULL,
  event INTEGER NOT NULL,
  PRIMARY KEY (word, open, event)
) STRICT, WITHOUT ROWID;
`

/**
 * Chunks of form 3 share a body with others: a pack, see `packs/`. chunk_sealed finds the chunks that are not in one.
 */
const VERSION_9 = `
CREATE INDEX chunk_sealed ON chunk (stream, last_received) WHERE form = 2;
`

/**
 * What lists by tag and searches by a number need.
 *
 * - label, event_label: the markets and events that have a tag, by open time, with what lists are filtered and
 *   sorted by: a list in any order reads the rows of its tag, which lie together. `word` is the tag's; these
 *   words have no postings.
 * - Words of `^` and digits: numbers of a text that begin with two or three digits, and numbers that are inside of
 *   words, see `words.ts`. They are made from the words: a number begins where a word does, or after a letter that
 *   is not one of a to z.
 */
const VERSION_10 = `
CREATE TABLE label (
  word INTEGER NOT NULL,
  open INTEGER NOT NULL,
  market INTEGER NOT NULL,
  family INTEGER NOT NULL,
  close INTEGER,
  volume REAL,
  liquidity REAL,
  PRIMARY KEY (word, open, market)
) STRICT, WITHOUT ROWID;
CREATE TABLE event_label (
  word INTEGER NOT NULL,
  open INTEGER NOT NULL,
  event INTEGER NOT NULL,
  family INTEGER NOT NULL,
  close INTEGER,
  PRIMARY KEY (word, open, event)
) STRICT, WITHOUT ROWID;
INSERT INTO label (word, open, market, family, close, volume, liquidity)
  SELECT word.id, posting.open, posting.market, family, close, volume, liquidity
  FROM word CROSS JOIN posting ON posting.word = word.id CROSS JOIN listing ON listing.id = posting.market
  WHERE word.text >= '#' AND word.text < '$';
INSERT INTO event_label (word, open, event, family, close)
  SELECT word.id, event_posting.open, event_posting.event, family, close
  FROM word CROSS JOIN event_posting ON event_posting.word = word.id
  CROSS JOIN event ON event.id = event_posting.event
  WHERE word.text >= '#' AND word.text < '$';
DELETE FROM posting WHERE word IN (SELECT id FROM word WHERE text >= '#' AND text < '$');
DELETE FROM event_posting WHERE word IN (SELECT id FROM word WHERE text >= '#' AND text < '$');
CREATE TEMP TABLE digits AS
  WITH RECURSIVE place (word, text, at) AS (
    SELECT id, text, 1 FROM word WHERE text >= '0' AND text < ':'
    UNION ALL SELECT id, text, 1 FROM word WHERE text >= ':' AND text GLOB '*[^ -~][0-9]*'
    UNION ALL SELECT word, text, at + 1 FROM place WHERE at < length(text) AND text GLOB '*[^ -~][0-9]*'
  )
  SELECT word, '^' || substr(text, at, length) AS start
  FROM place CROSS JOIN (SELECT 2 AS length UNION ALL SELECT 3)
  WHERE (at = 1 OR substr(text, at - 1, 1) GLOB '[^0-9a-z]')
    AND substr(text, at, length) GLOB substr('[0-9][0-9][0-9]', 1, 5 * length)
  UNION
  SELECT word, '^' || substr(text, at, length(text) - at + 1 - length(ltrim(substr(text, at), '0123456789')))
  FROM place
  WHERE at > 1 AND substr(text, at - 1, 1) GLOB '[^0-9a-z]' AND substr(text, at, 1) GLOB '[0-9]';
INSERT INTO word (text) SELECT DISTINCT start FROM digits;
INSERT OR IGNORE INTO posting (word, open, market)
  SELECT number.id, posting.open, posting.market
  FROM digits CROSS JOIN posting ON posting.word = digits.word CROSS JOIN word AS number ON number.text = start
  ORDER BY 1, 2, 3;
INSERT OR IGNORE INTO event_posting (word, open, event)
  SELECT number.id, event_posting.open, event_posting.event
  FROM digits CROSS JOIN event_posting ON event_posting.word = digits.word
  CROSS JOIN word AS number ON number.text = start
  ORDER BY 1, 2, 3;
DROP TABLE digits;
`

// Step n brings a database of version n to n + 1; a released step is never edited.
const STEPS: readonly string[] = [
  VERSION_1,
  VERSION_2,
  VERSION_3,
  VERSION_4,
  VERSION_5,
  VERSION_6,
  VERSION_7,
  VERSION_8,
  VERSION_9,
  VERSION_10,
]

/**
 * Runs the steps that bring a database from a version to the newest, inside the opening transaction; `progress` is
 * called before each statement.
 */
export function migrate(from: number, run: (sql: string) => void, progress?: Progress): void {
  const statements = statementsOf(STEPS.slice(from))
  for (const [index, sql] of statements.entries()) {
    progress?.(index, statements.length, `steps to schema ${SCHEMA_VERSION}`)
    run(sql)
  }
}

function statementsOf(steps: readonly string[]): string[] {
  return steps.flatMap((step) => step.split(';')).flatMap((sql) => sql.trim() || [])
}

/** The tables that a read-only tape of an older version has in memory too, with the newest indexes. */
export const OVERLAID: readonly string[] = ['stream', 'state', 'market', 'gap']

/** The tables that `recount.ts` fills. */
const LISTED = 'family listing word word_part posting label event event_posting event_label'.split(
  ' ',
)
const RECOUNTED = [...LISTED, 'day', 'day_gap', 'extent', 'unbroken', 'outage']

/**
 * SQL that makes tables and indexes of the newest schema as temporary ones: those of lists and sums, those
 * in `OVERLAID`, and those that the file does not have.
 */
export function overlaySteps(existing: ReadonlySet<string>): string[] {
  const isMade = (table: string): boolean =>
    OVERLAID.includes(table) || RECOUNTED.includes(table) || !existing.has(table)
  return statementsOf(STEPS).flatMap((sql) => {
    const table = /^CREATE TABLE (\w+)/.exec(sql)?.[1]
    const [, index, on] = /^CREATE (?:UNIQUE )?INDEX (\w+) ON (\w+)/.exec(sql) ?? []
    const into = /^INSERT INTO (\w+)/.exec(sql)?.[1]
    if (!isMade(table ?? on ?? into ?? '')) return []
    if (table !== undefined) return [sql.replace('CREATE TABLE', 'CREATE TEMP TABLE')]
    if (index !== undefined) return [sql.replace(`INDEX ${index}`, `INDEX temp.${index}`)]
    return [sql]
  })
}
