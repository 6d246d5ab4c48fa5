import type { NoticeJson, PriorbookClient } from '../client/index.ts'
import {
  described,
  listOf,
  objectOf,
  PARAM_TEXTS,
  TEXT,
  TEXT_OR_NULL,
  type JsonSchema,
  type ParamInputs,
  type ParamTable,
  type TypeOf,
} from '../wire/index.ts'

/** What a tool works with. */
export type ToolContext = {
  readonly client: PriorbookClient
  /** Ends with the request of the model. */
  readonly signal: AbortSignal
}

/** One thing that a model can ask for: schemas of question and answer, and how it is answered. */
export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: JsonSchema
  readonly output: JsonSchema
  /** True for a tool that works on files of the machine, which a service does not offer to others. */
  readonly isLocal?: boolean
  run(input: never, context: ToolContext): Promise<object>
}

/** Defines a tool; the types of question and answer follow from its schemas. */
export function defineTool<Input, Output extends object>(
  tool: Omit<Tool, 'input' | 'output' | 'run'> & {
    readonly input: JsonSchema<Input>
    readonly output: JsonSchema<Output>
    run(input: Input, context: ToolContext): Promise<Output>
  },
): Tool {
  return tool
}

/** The question of a tool: parameters of a route with the words of its docs, and members of its own. */
export function questionOf<
  Query extends ParamTable,
  const Names extends readonly (keyof Query & string)[],
  const Own extends Readonly<Record<string, JsonSchema>> = {},
  const Required extends readonly (keyof Own & string)[] = [],
>(
  query: Query,
  names: Names,
  own?: Own,
  required?: Required,
): JsonSchema<
  ParamInputs<Pick<Query, Names[number]>> & {
    readonly [Name in Required[number]]: TypeOf<Own[Name]>
  } & { readonly [Name in Exclude<keyof Own, Required[number]>]?: TypeOf<Own[Name]> }
> {
  const params = names.map((name) => {
    const text = PARAM_TEXTS[name]
    const { schema } = query[name]!
    return [name, text === undefined ? schema : { ...schema, description: text }] as const
  })
  const needed = names.filter((name) => query[name]!.isRequired === true)
  return {
    type: 'object',
    properties: { ...own, ...Object.fromEntries(params) },
    required: [...(required ?? []), ...needed],
    additionalProperties: false,
  }
}

/** A limit of rows for a model: small where it is not given. */
export function rowLimit(most: number, usual: number): JsonSchema<number> {
  const description = `Rows of the answer, ${usual} where absent.`
  return { type: 'integer', minimum: 1, maximum: most, default: usual, description }
}

/** Asks for the rows after those of an answer. */
export const CONTINUE = described(
  TEXT,
  'The `continue` of an answer to the same question: the rows after it.',
)

const NOTICE_MEMBERS = objectOf({ code: TEXT, message: TEXT })

/** The schema of an answer: members of its own, notices, and how to get more. */
export function answerOf<const P extends Readonly<Record<string, JsonSchema>>>(properties: P) {
  return objectOf({
    ...properties,
    notices: described(listOf(NOTICE_MEMBERS), 'What to know, such as why something is missing.'),
    more: described(TEXT_OR_NULL, 'How to get more than this; null where this is all.'),
  })
}

/** The schema of a page of rows: an answer with the mark to continue at. */
export function pageOf<Row, const P extends Readonly<Record<string, JsonSchema>> = {}>(
  row: JsonSchema<Row>,
  more?: P,
) {
  return answerOf({
    rows: listOf(row),
    ...(more as P),
    continue: described(
      TEXT_OR_NULL,
      'Goes into `continue` of the next question; null at the end.',
    ),
  })
}

/** Some members of a row. */
export function pick<Row extends object, const Names extends readonly (keyof Row & string)[]>(
  row: Row,
  names: Names,
): Pick<Row, Names[number]> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Names[number]>
}

/** Notices without what programs read of them. */
export function noticesOf(
  notices: readonly NoticeJson[],
): { readonly code: string; readonly message: string }[] {
  return notices.map(({ code, message }) => ({ code, message }))
}

/** The end of a page: its notices, where it continues and what to do for more. */
export function endOf(
  { notices, resume }: { readonly notices: readonly NoticeJson[]; readonly resume: string | null },
  narrow: string,
): {
  readonly notices: ReturnType<typeof noticesOf>
  readonly continue: string | null
  readonly more: string | null
} {
  return {
    notices: noticesOf(notices),
    continue: resume,
    more:
      resume === null
        ? null
        : `There are more rows: ask again with \`continue\`, ask for a larger \`limit\`, or ${narrow}.`,
  }
}
