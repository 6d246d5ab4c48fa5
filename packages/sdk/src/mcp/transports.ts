import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { createMcpServer, type McpOptions } from './server.ts'

/** Serves a client over the standard streams of this process until it closes them or `signal` aborts. */
export async function serveStdio(options: McpOptions, signal: AbortSignal): Promise<void> {
  const mcp = createMcpServer(options)
  const closed = new Promise<void>((done) => {
    mcp.server.onclose = done
    signal.addEventListener('abort', () => done(), { once: true })
    // A client that has gone closes our input.
    process.stdin.once('end', done)
  })
  await mcp.connect(new StdioServerTransport())
  await closed
  await mcp.close()
}

/** Answers one message over HTTP, without a session; `message` is the parsed body of the request. */
export async function answerMessage(
  options: McpOptions,
  request: Request,
  message: unknown,
): Promise<Response> {
  const mcp = createMcpServer(options)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await mcp.connect(transport)
  try {
    const answer = await transport.handleRequest(request, { parsedBody: message })
    // The body is read before the server closes.
    return new Response(await answer.arrayBuffer(), answer)
  } finally {
    await mcp.close()
  }
}
