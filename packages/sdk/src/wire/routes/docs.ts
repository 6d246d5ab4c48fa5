import { VENUES, type VenueId } from '../../domain/index.ts'
import { DISCLAIMER } from '../execution.ts'
import { VENUE_WIRE } from '../venues/index.ts'
import { DEFAULT_OFFSETS, MAX_OFFSETS } from './panel-params.ts'
import { DEFAULT_LIMIT, DOCUMENTED_DAYS } from './params.ts'
import type { MarketRouteName, RouteId } from './routes.ts'

/** What the docs say of a route. */
export type RouteDocs = {
  /** The section of the docs. */
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** Parameters that mean something else here than `PARAM_TEXTS` says. */
  readonly params?: Readonly<Record<string, string>>
}

const ACROSS = 'Across venues'
const REFERENCE = 'Reference prices'
const CONTRACTS = 'Contracts'
const FORMS_OF_TIME =
  'ISO 8601, in UTC without a zone; a day; or 10 digits (s), 13 digits (ms) or 16 digits (µs).'
const MARKET_RANGE = {
  start_time: `Only markets that close after this time. ${FORMS_OF_TIME}`,
  end_time: `Only markets that open before this time. ${FORMS_OF_TIME}`,
}

/** What each parameter means where its route does not say otherwise. */
export const PARAM_TEXTS: Readonly<Record<string, string>> = {
  market_id: 'The venue’s own identifier of the market.',
  market_ticker: 'The venue’s own identifier of the market.',
  alert_id: 'The id of the alert.',
  contract_id: 'The id of the contract, such as btc-15m-up-down-20261117T174500Z.',
  limit: `Rows per page, ${DEFAULT_LIMIT} by default.`,
  cursor: '`pagination.next_cursor` of the previous page; all other parameters stay the same.',
  order: 'Oldest first (the default) or newest first.',
  start_time: `Only what was received at or after this time. ${FORMS_OF_TIME}`,
  end_time: `Only what was received before this time. ${FORMS_OF_TIME}`,
  number_format: 'Decimals as JSON numbers (default) or as text.',
  time_format: 'Times as ISO 8601 (default) or whole microseconds.',
  from: `At or after this time. ${FORMS_OF_TIME}`,
  to: `Before this time. ${FORMS_OF_TIME}`,
  format: 'The format of the answer; `Accept` does the same.',
  known_at: `What was known at this time; later corrections are left out. ${FORMS_OF_TIME}`,
  include_orderbook: 'Whether rows carry ladders.',
  depth: 'Max levels per side.',
  interval: 'The last observation of every interval instead of every observation.',
  clock: 'Which clock the range means; rows stay in received order.',
  origin:
    '`observed` (the default): trades that were recorded. `backfill`: trades that were fetched from the venue’s history, by source_time, in which range and order mean that time; the two are never mixed.',
  outcome: 'Only this outcome, by its label.',
  token_id: 'Only this outcome, by the venue’s token.',
  metric:
    'Exactly one of: chance (the displayed probability signal), price (the displayed quoted market value), last_trade (the newest execution sample).',
  side: 'What the order does with the outcome.',
  size: 'How much, in the size unit of the venue: a positive decimal.',
  at: `The last book received at or before this time. ${FORMS_OF_TIME}`,
  latency_ms:
    'How long the order is on its way, in milliseconds: it meets the book of its arrival.',
  max_age_ms:
    'Max age of that book in milliseconds; where it is older there is no quote, and a notice `stale_book`.',
  id: 'The id of a book row, trade or sample of this market.',
  q: 'Words or "phrases", all of which are in the id, title, question, slug, tickers or the title of the event, numbers at the beginning of a word; case and order do not matter. A word that is an asset or a window (`btc 15m`) finds the markets of it, and by their text those whose asset or window is not known. A word that no market has is taken for a similar one, with the notice `search_corrected`.',
  sort: 'What `order` goes by; open_time by default.',
  include: '`native` adds what the venue said, in its own names, to every market.',
  venue: 'Only this venue.',
  asset: 'The underlying asset, such as btc.',
  window: 'Only rounds of this length.',
  series: 'Only this series ticker.',
  event: 'Only markets of this event, by the venue’s own id.',
  event_id: 'The venue’s own id of the event.',
  category: 'Only this heading of the venue, in any case of letters.',
  tag: 'Only what has this label of the venue, in any case of letters.',
  feed: 'A feed of reference prices.',
  status: 'Only markets whose status is this now.',
  market: 'Only this market, by the venue’s own identifier.',
  key: 'Only this instrument or market id, exactly.',
  reason: 'Only this reason.',
  days: `How many days back, ${DOCUMENTED_DAYS.usage} by default.`,
  day: 'One UTC day; or give `start_time` and `end_time`.',
  dataset: 'What to download, books by default.',
  offset: 'Skips this many bytes at the start of the file, to continue a broken download.',
  formats: 'Which files to describe, joined by commas; ndjson by default. Each is rendered once.',
  estimate: 'True gives rows and bytes quickly, without rendering and without hashes.',
}

const SCOPE_TEXTS = {
  venue: 'The venue.',
  market_id:
    'One market, by the venue’s own identifier. Without it, a family: `asset` or `series`, and `window`.',
  asset: 'The family’s underlying asset, such as btc.',
  series: 'The family’s series ticker.',
  window: 'The family’s window, such as 5m or 15m.',
  metric:
    'Which samples, or which values of the price history; with `dataset=samples` and `dataset=history` only, and required there.',
  feed: 'Which feed; with `dataset=reference` only, which is the reference prices of `asset`.',
  include_orderbook: 'Whether rows of books carry ladders; true by default.',
}

/** What the docs say of the routes that are not one venue's. */
export const ROUTE_DOCS: Readonly<Record<RouteId, RouteDocs>> = {
  markets: {
    tag: ACROSS,
    summary: 'Markets of all venues',
    description:
      'Market records of every venue that the plan includes, with the last price, the spread and the coverage of the first outcome. `q` is text in an identifier, title or slug, in any case of letters; of words longer than 24 characters, such as hashes, it is the beginning. A search for frequent text may return a short page with a cursor.',
    params: { asset: 'Only this underlying asset.', ...MARKET_RANGE },
  },
  events: {
    tag: ACROSS,
    summary: 'Events of all venues',
    description:
      'An event is what the venue groups markets by: an election with a market for each candidate, a match, or one round of a series. With what its markets share and how many of them there are. Sorted by the first open time or the last close time of a market.',
    params: {
      q: 'Words or "phrases", all of which are in the title, slug, id or series of the event; case and order do not matter.',
      status: '`open`: only events with an open market; `all` by default.',
      start_time: `Only events whose last market closes after this time. ${FORMS_OF_TIME}`,
      end_time: `Only events whose first market opens before this time. ${FORMS_OF_TIME}`,
    },
  },
  event: {
    tag: ACROSS,
    summary: 'One event with its markets',
    description:
      'The markets of an event by (open_time, id), with the best prices and the last one of their first outcome, and the winner. `sums` adds up the best prices over the open books without a gap, and names every market that was left out, with the reason; it is null where the markets take more than one page. `venue` is needed where two venues have given out the same id.',
    params: { venue: 'The venue of the event.' },
  },
  categories: {
    tag: ACROSS,
    summary: 'Headings of the venues',
    description:
      'Every heading that a venue gives its markets, with the number of markets and events under it, most open markets first. `category` of other routes takes these names.',
  },
  gaps: {
    tag: ACROSS,
    summary: 'Spans that were not observed',
    description:
      'Half-open spans [start_time, end_time) by received time, each with its reason, by start_time. The same bounds are on every page of books and trades; nothing is filled.',
    params: {
      market: 'Only what concerns this market: its instruments, itself, its venue.',
      start_time: `Only gaps that end after this time or are still open. ${FORMS_OF_TIME}`,
      end_time: `Only gaps that begin before this time. ${FORMS_OF_TIME}`,
    },
  },
  coverage: {
    tag: ACROSS,
    summary: 'What was captured, and since when',
    description:
      'Without a market: every dataset with the floor of its capture. With a market: its ladder streams day by day (available, degraded, missing) with the realized cadence, the first day, the first complete day and the gaps.',
    params: { market: 'The coverage of this market, by the venue’s own identifier.' },
  },
  coverage_days: {
    tag: ACROSS,
    summary: 'What was observed of a venue, day by day',
    description: `One row for every UTC day of the range, those without an observation included: how many markets and books were observed, for how long, and what is missing by reason. Times at which a market did not trade are not gaps. At most ${DOCUMENTED_DAYS.calendarMax} days; the last ${DOCUMENTED_DAYS.calendar} by default.`,
    params: {
      venue: 'The venue.',
      start_time: `From the day of this time on. ${FORMS_OF_TIME}`,
      end_time: `Only days that begin before this time, each of them whole; now by default. ${FORMS_OF_TIME}`,
    },
  },
  bulk: {
    tag: 'Bulk',
    summary: 'Download a market or a family',
    description: `All books, trades or samples of one market, or of a family of markets, of a day or of up to ${DOCUMENTED_DAYS.download} days as one file. Markets come one after another by open time and id, rows by received time. NDJSON has gaps as lines and ends with a receipt; of the other formats both are in the manifest.`,
    params: {
      ...SCOPE_TEXTS,
      format:
        'The format, ndjson by default; `Accept` does the same. hftbacktest, nautilus and tardis are archives of the files of these tools, with books and trades.',
    },
  },
  bulkManifest: {
    tag: 'Bulk',
    summary: 'What a download holds',
    description:
      'Rows, bytes, SHA-256, time range, schema, order, gaps and receipt of the files that /v3/bulk gives with the same parameters. Each file is rendered once to be hashed; `estimate=true` answers quickly with rows and bytes alone.',
    params: SCOPE_TEXTS,
  },
  parity: {
    tag: ACROSS,
    summary: 'Prices that contradict each other',
    description:
      'How often checks of prices failed, by market and UTC day: Yes and No that do not add up, outcomes that cross, prices off the tick or out of bounds. Without a market only days with a failure are listed; with one, every recorded day.',
    params: {
      market: 'Every recorded day of this market, by the venue’s own identifier.',
      start_time: `From the day of this time on. ${FORMS_OF_TIME}`,
      end_time: `Only days that begin before this time, each of them whole. ${FORMS_OF_TIME}`,
    },
  },
  panels: {
    tag: ACROSS,
    summary: 'Past rounds aligned by seconds to their close',
    description: `One row for every round that has closed and every offset of \`at\`, by (close_time, venue, market_id, at): the best prices of the first outcome at that instant, the age of the book, the reference price that the venue settles on, and the winner. Inside a gap and before the first observation prices are null and \`gap\` says why; nothing is carried over a gap. Arrow and Parquet are one file with all rows of the range, of up to ${DOCUMENTED_DAYS.download} days; they take neither \`limit\` and \`cursor\` nor a style.`,
    params: {
      venue: 'Only these venues, joined by commas; all by default.',
      from: `Only rounds that close at or after this time. ${FORMS_OF_TIME}`,
      to: `Only rounds that close before this time; now by default. ${FORMS_OF_TIME}`,
      at: `Offsets from the close, joined by commas: whole seconds (\`-60s\`), minutes (\`-5m\`) or hours (\`-1h\`) before it, at most a day, or \`0s\`; at most ${MAX_OFFSETS}, ${DEFAULT_OFFSETS} by default.`,
      order: 'Oldest first (the default) or newest first, by close_time.',
    },
  },
  reference: {
    tag: REFERENCE,
    summary: 'Which reference prices are recorded',
    description:
      'The series of prices that venues publish themselves and settle crypto rounds on: one for each feed and asset, with its first and its newest price.',
  },
  reference_prices: {
    tag: REFERENCE,
    summary: 'Reference prices of an asset',
    description:
      'Every price by (received_time, feed, sequence), of one feed or of all; with `interval` the last one of every bucket that has one. Spans in which a feed was not received are in `meta.gaps`; no price is carried over them.',
    params: {
      feed: 'Only this feed.',
      interval: 'The last price of every interval instead of every price.',
    },
  },
  reference_asof: {
    tag: REFERENCE,
    summary: 'The reference price of an asset at an instant',
    description:
      'Of every feed the last price received at or before `at`, with its age. Inside a gap `price` is null and `gap` says why: a price that may have changed unseen is never served.',
    params: {
      at: `The last price received at or before this time. ${FORMS_OF_TIME}`,
      feed: 'Only this feed.',
    },
  },
  reference_audit: {
    tag: REFERENCE,
    summary: 'The raw message behind a reference price',
    description:
      'The message exactly as it was received, and the price that it gives now, compared with the stored one. `raw_expired` where retention removed the message.',
    params: { id: 'The id of a reference price of this asset.' },
  },
  contracts: {
    tag: CONTRACTS,
    summary: 'What is being bet on, over all venues',
    description:
      'A contract is what markets of several venues bet on: the same underlying, kind, window and strike. Nearest close first for `status=open` and `scheduled`, newest close first otherwise. `comparison` tells whether the members are identical, and `differs_in` in what they are not. Members that the plan does not include are `withheld`.',
    params: {
      q: 'Words or "phrases" of a market: contracts with a member that has them all.',
      kind: 'Only this kind of contract.',
      status:
        '`scheduled`: the window has not begun; `open`: it runs; `closed`: it is over; `resolved`: all members are resolved. All by default.',
      asset: 'Only this underlying asset.',
      window: 'Only windows of this name, such as 15m.',
      members: 'Only contracts with at least this many members; 2 by default.',
      start_time: `Only contracts that close at or after this time. ${FORMS_OF_TIME}`,
      end_time: `Only contracts that close before this time. ${FORMS_OF_TIME}`,
    },
  },
  contract: {
    tag: CONTRACTS,
    summary: 'One contract with its members, terms and differences',
    description:
      'Every term of every member with the evidence for it, and every difference with what it means for a holder. What cannot be derived is null, and a difference too.',
  },
  contract_books: {
    tag: CONTRACTS,
    summary: 'The books of all members at one instant',
    description:
      'Of each member the last book received at or before `at`, in terms of Yes of the contract, with its age; inside a gap `bids` and `asks` are null and `reason` says why.',
  },
  contract_snapshots: {
    tag: CONTRACTS,
    summary: 'The best prices of all members, aligned in time',
    description:
      'One row for every bucket of the range, with the last book that each member had in it. A member without an observation in the bucket, or inside a gap at the end of it, has a `reason` instead: nothing is carried over. Without a range: the window of the contract.',
    params: {
      interval: 'The length of a bucket; 1m by default.',
      start_time: `From this time on; where the window begins by default. ${FORMS_OF_TIME}`,
      end_time: `Up to this time; where the window ends by default. ${FORMS_OF_TIME}`,
    },
  },
  contract_consolidated: {
    tag: CONTRACTS,
    summary: 'One book over all venues in net prices',
    description: `Levels of all members at an instant by what they cost or bring after the fee of a taker, which is that of the date, each with its venue and its own price. With \`size\` and \`side\` the cheapest way to buy that many shares of Yes, or the best way to sell them, split by venue. One USD, USDC and USDT count the same. ${DISCLAIMER}`,
    params: {
      side: 'What to do with Yes of the contract; needed with `size`.',
      size: 'How many shares: a positive decimal.',
      depth: 'Max levels per side; 20 by default. An order may use more.',
    },
  },
  contract_spreads: {
    tag: CONTRACTS,
    summary: 'Where the venues disagreed by more than the fees',
    description:
      'Spans in which Yes at one venue and No at another cost less than the 1 that one of them pays, after the fees of the date: how long, how much at best, for how many shares, with the rows that prove it. A span ends where a book was not observed, and never goes over a gap. By start_time. At most 7 days; without a range the window of the contract.',
    params: {
      min_edge: 'Only while the edge is above this, per share; 0 by default.',
      start_time: `From this time on; where the window begins by default. ${FORMS_OF_TIME}`,
      end_time: `Up to this time; where the window ends by default. ${FORMS_OF_TIME}`,
    },
  },
  contract_leadlag: {
    tag: CONTRACTS,
    summary: 'Which venue moves first',
    description:
      'For each two members: the delay at which the changes of their middle prices agree best, by the recorder’s clock and by the clocks of the venues, with its uncertainty, the numbers of moves and the rows of the largest moves that meet. `not_decided` where the evidence does not suffice. No move goes over a gap. At most a day with at most 50,000 moves of each member; without a range the window of the contract.',
    params: {
      max_lag_ms: 'The greatest delay that is tried in both directions; 5000 by default.',
      step_ms: 'The distance of two delays; 50 by default. `max_lag_ms` is 2 to 2,000 steps.',
      include_curve: 'Also the correlation at every delay.',
      start_time: `From this time on; where the window begins by default. ${FORMS_OF_TIME}`,
      end_time: `Up to this time; where the window ends by default. ${FORMS_OF_TIME}`,
    },
  },
  proofs: {
    tag: 'Proofs',
    summary: 'Signed roots of days',
    description:
      'For every UTC day one signed root of a Merkle tree over the chunks that were sealed with a last row of that day, and amendments where chunks were sealed later, in the order of their signing. Each statement names the one before it. `meta.key` is the public key that signs now.',
    params: {
      start_time: `Only days from the day of this time on. ${FORMS_OF_TIME}`,
      end_time: `Only days that begin before this time. ${FORMS_OF_TIME}`,
      order: 'Oldest first (asc, the default) or newest first, by the time of signing.',
    },
  },
  proof_day: {
    tag: 'Proofs',
    summary: 'The signed root of a day, and the proof of a market',
    description:
      'All signed roots of a UTC day. With `venue` and `market_id` also the leaves of the market in the newest of them, with their neighbours and the hashes that lead to the root: they prove which chunks the market has on that day, and that it has no others. While the day is running, or not signed yet, `data` is null and the notice says so.',
    params: {
      day: 'A UTC day, such as 2026-08-11.',
      venue: 'The venue of the market.',
      market_id: 'The market whose leaves to prove, by the venue’s own identifier.',
    },
  },
  alerts: {
    tag: 'Alerts',
    summary: 'The alerts of the key',
    description:
      'Rules of this key, oldest first, with what became of their events. A rule watches recorded rows and sends what happens to a webhook; a key that was rolled keeps its rules.',
  },
  alert: {
    tag: 'Alerts',
    summary: 'One alert',
    description: 'A rule of this key, and what became of its events.',
  },
  alert_deliveries: {
    tag: 'Alerts',
    summary: 'Events of an alert and their delivery',
    description:
      'The events of a rule, newest first: those that wait, those that were delivered and those that were given up, with the newest error. Events whose delivery ended are listed for seven days, and at most 1,000 of a rule.',
  },
  whoami: {
    tag: 'Account',
    summary: 'Which key this is',
    description: 'The key of the request (never its text), its plan, and what the plan allows.',
  },
  limits: {
    tag: 'Account',
    summary: 'Every limit of the key, and what is left of it',
    description:
      'Rate limits hold over any span of a second or a minute, for all connections together. This request counts as well. `stream`: connections of the key, and what one connection may have.',
  },
  usage: {
    tag: 'Account',
    summary: 'What the key was used for',
    description:
      'Requests, refusals, rows and bytes of this key by UTC day and route; at most two seconds behind.',
  },
  status: {
    tag: 'Service',
    summary: 'How the service is doing, with incidents',
    description: `Per venue: whether it is being recorded, when something last arrived, and what the recorder counts. Incidents are gaps of whole venues, open ones and those of the last ${DOCUMENTED_DAYS.status} days. Gaps of single markets: /v3/gaps. The sockets of the stream are those of the process that answers.`,
  },
  health: {
    tag: 'Service',
    summary: 'Whether the service answers',
    description: 'Keyless. 200 while the store can be read, 503 otherwise.',
  },
  home: page('The door', 'What this is, and where to go.'),
  docs: page('The docs', 'Every route, with a way to try it.'),
  docs_errors: page('Errors', 'Every error code and what to do.'),
  llms: page('The docs for language models', 'The whole interface in plain text.'),
  openapi: page(
    'The OpenAPI document',
    'OpenAPI 3.1, generated from the routes that this server serves.',
  ),
  asyncapi: page('The AsyncAPI document', 'AsyncAPI 3, generated from the messages of the stream.'),
}

/** What the docs say of a route of one market; `isPlain` where its address does not name the asset. */
export function marketRouteDocs(
  name: MarketRouteName,
  venue: VenueId,
  isPlain: boolean,
): RouteDocs {
  const { label: tag, paths } = VENUES[venue]
  const texts = MARKET_DOCS[name](venue)
  if (isPlain) {
    const description = `${texts.description} For markets with or without an asset.`
    return { tag, ...texts, description }
  }
  // Where a route has both addresses, lists of routes must tell them apart.
  return paths.hasAsset
    ? { tag, ...texts, summary: `${texts.summary} (by asset)` }
    : { tag, ...texts }
}

/** What the docs say of a venue's list of markets. */
export function listRouteDocs(venue: VenueId, isPlain: boolean): RouteDocs {
  const { params, ...texts } = VENUE_WIRE[venue].texts.markets
  const { label: tag } = VENUES[venue]
  const all = { ...MARKET_RANGE, ...params }
  if (!isPlain) return { tag, ...texts, params: all }
  return {
    tag,
    summary: `Markets of ${tag.replace('Venue', 'venue')}, with or without an asset`,
    description:
      'Market records by (open_time, id), elections and sports included. A market matches a range when [open_time, close_time) meets it.',
    params: { ...all, asset: 'Only this underlying asset.' },
  }
}

type Texts = Omit<RouteDocs, 'tag'>

const perToken = (venue: VenueId): string =>
  VENUES[venue].booksPer === 'token' ? ', one per token' : ''

const MARKET_DOCS: Readonly<Record<MarketRouteName, (venue: VenueId) => Texts>> = {
  market: () => ({
    summary: 'One market',
    description:
      'The market record as known last, or as known at `known_at`; nothing that was learned later is in it.',
  }),
  revisions: () => ({
    summary: 'The history of a market record',
    description:
      'Every version of the market record by the time it was received, oldest first: status, volume, liquidity, ticks, fees and resolution as they were known then. A version whose status does not follow from the one before it carries `anomaly`.',
    params: {
      start_time: `Only versions received at or after this time. ${FORMS_OF_TIME}`,
      end_time: `Only versions received before this time. ${FORMS_OF_TIME}`,
    },
  }),
  trades: (venue) => ({
    summary: 'Trades of a market',
    description: VENUES[venue].hasTrades
      ? 'Execution prints by (received_time, sequence), with the venue’s own trade id and side beside the normalized one.'
      : 'Fills that were read from BNB Smart Chain, by (received_time, sequence), if this installation reads an endpoint of the chain. Otherwise the route is reserved: it returns an empty historical dataset with the reason, not an error.',
  }),
  timeseries: () => ({
    summary: 'Samples of one metric of a market',
    description:
      'One sample per poll, also when it is unchanged. Each row names its value after its metric; the three metrics are distinct series and never merged.',
  }),
  history: () => ({
    summary: 'Price history that the venue keeps of a market',
    description:
      'Values that were fetched from the venue’s own history, from before and during capture: of B the parts of its candlesticks, of C the price of each outcome. They are not made of what was recorded, and rows are by source_time.',
    params: {
      metric:
        'Exactly one of: open, high, low, close (prices of the trades in a candlestick), bid, ask (best prices at its end), volume, open_interest, price (the price at a time).',
      start_time: `Only values of this time of the venue or after it. ${FORMS_OF_TIME}`,
      end_time: `Only values before this time of the venue. ${FORMS_OF_TIME}`,
    },
  }),
  execution: (venue) => ({
    summary: 'What an order would have met',
    description: `Walks the book as of \`at\` and gives the exact volume-weighted price with its evidence: row id, levels used, age of the book, distance to the next gap, fee. ${VENUE_WIRE[venue].texts.outcomeRule} ${DISCLAIMER}`,
    params: { at: `The time of the order; now by default. ${FORMS_OF_TIME}` },
  }),
  audit: () => ({
    summary: 'The raw message behind a row',
    description:
      'The message exactly as it was received, the request that it answered, and the row that the message gives now, compared with the stored one. `raw_expired` where retention removed the message.',
  }),
  snapshots: () => ({
    summary: 'Recorded books of a market',
    description:
      'Every observation in received order, with ladders or without; with `interval` the last one of every bucket that has one. Spans that were not observed are in `meta.gaps`, each on one page; the last page carries a receipt over all rows of the walk.',
  }),
  orderbook_latest: (venue) => ({
    summary: 'The newest recorded book of a market',
    description: `The whole book of the newest observation${perToken(venue)}. Where something is missing since, the notice \`open_gap\` says so: it is the newest recorded book, not the present one.`,
  }),
  orderbook: (venue) => ({
    summary: 'The book of a market at an instant',
    description: `The last book received at or before \`at\`${perToken(venue)}. Inside a gap and before the first observation \`data\` is null, and the notice says why and which row was the last before it: a book that may have changed unseen is never served.`,
  }),
  changes: () => ({
    summary: 'Changed levels of a market’s books',
    description:
      'The observations of `snapshots` by what each changed: side, price and new size (0: gone). A row flagged `restart` starts from an empty book and holds all of it. The book before the first row is that of the sequence before it.',
  }),
}

function page(summary: string, description: string): RouteDocs {
  return { tag: 'Service', summary, description: `Keyless. ${description}` }
}
