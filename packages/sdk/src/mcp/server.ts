import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import type { JsonSchemaType } from '@modelcontextprotocol/sdk/validation'
import { PriorbookApiError, PriorbookClientError, type PriorbookClient } from '../client/index.ts'
import { PriorbookError } from '../domain/index.ts'
import { Problem, SCHEMA_VERSION, type JsonSchema } from '../wire/index.ts'
import { toPortable } from './portable-schema.ts'
import { PROMPTS } from './prompts.ts'
import { readResource, RESOURCES, SCHEMA_TEMPLATE } from './resources.ts'
import { pick, type Tool } from './tool.ts'
import { backtestTool, type BacktestRunner } from './tools/backtest.ts'
import { TOOLS } from './tools/index.ts'

/** What a server answers from. */
export type McpOptions = {
  readonly client: PriorbookClient
  /** Runs strategies of this machine; absent on a service, whose users have no files there. */
  readonly backtest?: BacktestRunner
}

const INSTRUCTIONS = `Priorbook holds full-depth order books of prediction markets as they were recorded, and says exactly what is missing.
Ask what_is_recorded first, find_markets or find_contracts next. Prices are probabilities between 0 and 1, as decimal text; times are UTC.
Where a book was not observed the answer has no book and says why: never fill it in. Answers are short; \`more\` says how to get the rest.`

/** Creates a server of the Model Context Protocol; connect it to a transport. */
export function createMcpServer({ client, backtest }: McpOptions): McpServer {
  const tools = backtest === undefined ? TOOLS : [...TOOLS, backtestTool(backtest)]
  const mcp = new McpServer(
    { name: 'priorbook', title: 'Priorbook', version: SCHEMA_VERSION },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  )
  // The schemas of tools are those of the wire, so requests are handled below the helpers for other schemas.
  const { server } = mcp
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(describe) }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const tool = tools.find(({ name }) => name === params.name)
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `no tool ${params.name}`)
    return call(tool, params.arguments ?? {}, client, signal)
  })
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: RESOURCES.map((resource) =>
      pick(resource, ['uri', 'name', 'description', 'mimeType']),
    ),
  }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [SCHEMA_TEMPLATE],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const found = await readResource(uri, client)
    if (found === undefined) throw new McpError(ErrorCode.InvalidParams, `no resource ${uri}`)
    return { contents: [{ uri, ...found }] }
  })
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: PROMPTS.map((prompt) => ({
      ...pick(prompt, ['name', 'title', 'description']),
      arguments: [...prompt.arguments],
    })),
  }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => promptOf(params))
  return mcp
}

function describe({ name, title, description, input, output, isLocal = false }: Tool) {
  return {
    name,
    title,
    description,
    inputSchema: toPortable(input) as { type: 'object' },
    outputSchema: toPortable(output) as { type: 'object' },
    annotations: { title, readOnlyHint: !isLocal, destructiveHint: false, openWorldHint: isLocal },
  }
}

function promptOf({
  name,
  arguments: values = {},
}: {
  readonly name: string
  readonly arguments?: Readonly<Record<string, string>> | undefined
}) {
  const prompt = PROMPTS.find((one) => one.name === name)
  if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `no prompt ${name}`)
  const missing = prompt.arguments.find((one) => one.required && values[one.name] === undefined)
  if (missing !== undefined) {
    throw new McpError(ErrorCode.InvalidParams, `${name} needs ${missing.name}`)
  }
  const content = { type: 'text' as const, text: prompt.text(values) }
  return { description: prompt.description, messages: [{ role: 'user' as const, content }] }
}

const VALIDATOR = new AjvJsonSchemaValidator()
const CHECKS = new Map<JsonSchema, ReturnType<AjvJsonSchemaValidator['getValidator']>>()

// A refusal is an answer that the model can read and act on, not a failure of the protocol.
async function call(
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  client: PriorbookClient,
  signal: AbortSignal,
): Promise<CallToolResult> {
  let check = CHECKS.get(tool.input)
  if (check === undefined) {
    check = VALIDATOR.getValidator(tool.input as JsonSchemaType)
    CHECKS.set(tool.input, check)
  }
  const checked = check(input)
  if (!checked.valid)
    return refuse('invalid_parameter', `${checked.errorMessage}${allowedIn(tool, input)}`)
  try {
    const answer = await tool.run(input as never, { client, signal })
    return {
      content: [{ type: 'text', text: JSON.stringify(answer) }],
      structuredContent: answer as Record<string, unknown>,
    }
  } catch (error) {
    return explain(error)
  }
}

// What the members that are wrong may be: the validator names only the member.
function allowedIn({ input }: Tool, given: Readonly<Record<string, unknown>>): string {
  const { properties } = input as { readonly properties: Readonly<Record<string, JsonSchema>> }
  const parts = Object.entries(given).flatMap(([name, value]) => {
    const schema = properties[name]
    if (schema === undefined) return [`it knows ${Object.keys(properties).join(', ')}`]
    const { enum: words } = schema as { readonly enum?: readonly unknown[] }
    return words === undefined || words.includes(value) ? [] : [`${name} is ${words.join(', ')}`]
  })
  return parts.length === 0 ? '' : `; ${parts.join('; ')}`
}

function explain(error: unknown): CallToolResult {
  if (error instanceof PriorbookApiError) {
    const { code, message, hint, allowed, plan, retryAfter } = error
    const parts = [
      hint,
      allowed === undefined ? undefined : `It may be ${allowed.join(', ')}.`,
      plan === undefined ? undefined : `The plan ${plan} includes it.`,
      retryAfter === undefined ? undefined : `Ask again in ${retryAfter} s.`,
    ]
    return refuse(code, [message, ...parts.filter((part) => part !== undefined)].join('. '))
  }
  if (error instanceof Problem || error instanceof PriorbookClientError) {
    return refuse(error.code, error.message)
  }
  if (error instanceof PriorbookError) return refuse(error.code, error.message)
  throw error
}

function refuse(code: string, text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${code}: ${text}` }] }
}
