/** Every error code with one sentence; a test compares `docs/reference/errors.md` with it. */
export const ERROR_CODES = {
  invalid_decimal: 'A price, size or value is not a decimal number.',
  unrepresentable: 'A number is too large or has too many decimals to be stored exactly.',
  invalid_time: 'A time is missing, malformed or out of range.',
  invalid_id: 'An identifier is empty, too long or contains characters that no venue uses.',
  invalid_message: 'An upstream message does not have the fields of its type.',
  unknown_event: 'An upstream message has a type that Priorbook does not know.',
  invalid_line: 'A line of a recording is not a complete JSON object with a received time.',
  truncated_file: 'A compressed recording ends before its end marker.',
  late_data: 'A recording contains messages older than the rows already stored for the market.',
  corrupt_chunk: 'A stored chunk fails its checksum or contradicts itself.',
  corrupt_row: 'A stored row fails its checksum.',
  corrupt_journal: 'A journal block fails its checksum or breaks the numbering.',
  corrupt_database: 'The database file is damaged outside the rows that carry checksums.',
  unsupported_format: 'The data was written by a format version that this build cannot read.',
  newer_schema: 'The database was written by a newer Priorbook; upgrade to open it.',
  store_locked: 'Another process already writes to this data folder.',
  already_running: 'A service already records into this data folder; its address is named.',
  store_read_only: 'The data folder or the store handle does not allow writing.',
  disk_full: 'There is no space left for the write; no part of it was stored.',
  store_unavailable: 'The store could not be opened or read.',
  store_refused:
    'The database server refuses: a wrong password, missing rights or no such database.',
  not_writer: 'Another process became the writer of the shared tape.',
  store_closed: 'The store was used after it was closed.',
  objects_unavailable: 'The object storage does not answer; nothing was lost, try again.',
  objects_refused: 'The object storage refuses: a missing bucket, credentials, rights or space.',
  object_missing: 'The object storage does not have an object that it should have.',
  object_damaged: 'An object does not have the bytes that were written.',
  unknown_market: 'No market with this identifier has been recorded.',
  origin_mismatch: 'Emulated data must not share a data folder with recorded data.',
  message_too_large: 'An upstream message exceeds the size limit of the journal.',
  invalid_argument: 'A command-line argument or option is not valid.',
  invalid_config: 'The configuration contains a value that is not valid.',
  upstream_failed: 'An upstream could not be started or reached.',
  fee_unknown: 'The fees of a market at a time are not known, and the run assumes none.',
  no_data: 'The markets have no recorded book in the range.',
} as const

/** One error code. */
export type ErrorCode = keyof typeof ERROR_CODES

/** An error with a listed code: programs read `code`, people read `message`. */
export class PriorbookError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, detail: string, options?: ErrorOptions) {
    super(detail === '' ? ERROR_CODES[code] : detail, options)
    this.name = 'PriorbookError'
    this.code = code
  }
}

/** Prints a rejected value for a message: short, and safe for values of any depth. */
export function showValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.slice(0, 80))
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value).slice(0, 80)
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? 'a list' : 'an object'
    default:
      return typeof value
  }
}
