import { CLIENT_ERRORS } from '../../client/index.ts'
import { GAP_REASONS } from '../../domain/index.ts'
import {
  COUNT,
  described,
  objectOf,
  orNull,
  PROBLEMS,
  STREAM_ERRORS,
  TEXT,
  TEXT_OR_NULL,
  listOf,
} from '../../wire/index.ts'
import { answerOf, defineTool } from '../tool.ts'

/** Every code that an answer of the service can carry, with its kind and its sentence. */
export const CODES: readonly CodeRow[] = [
  ...Object.entries(PROBLEMS).map(([code, { status, title }]) => ({
    code,
    kind: 'error of a request',
    status,
    meaning: title,
  })),
  ...rowsOf('error of the stream', STREAM_ERRORS),
  ...rowsOf('failure that the client detected', CLIENT_ERRORS),
  ...rowsOf('reason of a gap', GAP_REASONS),
]

type CodeRow = {
  readonly code: string
  readonly kind: string
  readonly status: number | null
  readonly meaning: string
}

function rowsOf(kind: string, table: Readonly<Record<string, string>>): CodeRow[] {
  return Object.entries(table).map(([code, meaning]) => ({ code, kind, status: null, meaning }))
}

const CODE = objectOf({
  code: TEXT,
  kind: TEXT,
  status: described(orNull(COUNT), 'The HTTP status of an error of a request.'),
  meaning: TEXT,
})

/** What a code of an error or of a gap means. */
export const EXPLAIN_ERROR = defineTool({
  name: 'explain_error',
  title: 'Explain a code',
  description: 'What the code of an error, of a stream error or of a gap means.',
  input: objectOf({ code: described(TEXT, 'Such as plan_required or sequence_break.') }),
  output: answerOf({
    codes: described(listOf(CODE), 'Empty where the code is not known.'),
    docs: described(TEXT_OR_NULL, 'Where the service explains errors.'),
  }),
  async run({ code }, { client }) {
    const known = CODES.filter((row) => row.code === code.trim().toLowerCase())
    return {
      codes: known.map((row) => ({ ...row })),
      docs: `${client.url}/docs/errors`,
      notices: [],
      more:
        known.length > 0
          ? null
          : `No such code. Codes are: ${CODES.map((row) => row.code).join(', ')}.`,
    }
  },
})
