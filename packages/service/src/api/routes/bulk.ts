import {
  MEDIA_TYPES,
  Problem,
  TOOL_FORMATS,
  contractOf,
  type DownloadFormat,
  type ToolFormat,
} from '@priorbook/sdk/wire'
import { defineRoute, takesLong, type Route, type RouteRequest } from '../route.ts'
import { CONTENT_TYPES, fileNameOf, resolveScope, type ScopeQuery } from '../bulk/scope.ts'
import { makeConverted } from '../bulk/converted.ts'
import { beginFile, makeFile } from '../bulk/file.ts'
import { skipBytes, finishedFile } from '../bulk/finished.ts'
import { describeFiles, estimateFiles } from '../bulk/manifest.ts'
import { noticeMeta } from '../pages/notices.ts'

const BULK = defineRoute(contractOf('bulk'), async (request, context) => {
  const format = formatOf(request)
  refuseUnfit(request.query, format)
  const { signal } = request
  const others = isTool(format) ? (['trades'] as const) : []
  const scope = await resolveScope(request.query, request.grant, context, others)
  const { offset = 0 } = request.query
  if (isTool(format)) {
    const name = fileNameOf(scope, 'tape').replace(/\.pbx$/, `_${format}.zip`)
    return {
      kind: 'stream',
      contentType: MEDIA_TYPES[format][0],
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
      body: await makeConverted(context, scope, format, signal),
    }
  }
  const begun = await beginFile(context, scope, format, signal)
  return {
    kind: 'stream',
    contentType: CONTENT_TYPES[format],
    headers: { 'Content-Disposition': `attachment; filename="${fileNameOf(scope, format)}"` },
    body: skipBytes(makeFile(context, scope, format, signal, {}, begun), offset),
    // An offset is an own way to ask for a part.
    finished: offset === 0 ? finishedFile(context, scope, format, signal) : undefined,
  }
})

const MANIFEST = defineRoute(contractOf('bulkManifest'), async (request, context) => {
  const { query, grant, signal } = request
  const formats = query.formats ?? (['ndjson'] as const)
  for (const format of formats) refuseUnfit(query, format)
  const scope = await resolveScope(query, grant, context)
  const describe = query.estimate === true ? estimateFiles : describeFiles
  const { data, gaps, notices } = await describe(context, scope, formats, signal)
  return {
    kind: 'data',
    data,
    count: 1,
    meta: {
      range: data['range'] as { start_time: string; end_time: string },
      gaps,
      // The server adds the notice of the installation to every answer.
      ...noticeMeta(...notices.filter((notice) => notice !== context.notice)),
    },
  }
})

/** Downloads and their manifests. */
export const BULK_ROUTES: readonly Route[] = [
  takesLong(BULK),
  takesLong(MANIFEST, ({ query }) => query['estimate'] !== true),
]

function formatOf(request: {
  readonly query: { readonly format: DownloadFormat | undefined }
  readonly format: RouteRequest<never, never>['format']
}): DownloadFormat {
  if (request.query.format !== undefined) return request.query.format
  // JSON, the default, means JSON line by line here.
  return request.format === 'json' ? 'ndjson' : request.format
}

/** Refuses parameters that a format cannot apply: stored chunks, for example, are sent unchanged. */
function refuseUnfit(
  query: ScopeQuery & { offset?: number | undefined },
  format: DownloadFormat,
): void {
  const styles = ['number_format', 'time_format'] as const
  const cuts = ['include_orderbook', 'depth', 'known_at'] as const
  const unfit = isTool(format)
    ? ([...cuts, ...styles, 'dataset', 'metric', 'origin', 'offset'] as const)
    : format === 'tape'
      ? [...cuts, ...styles]
      : format === 'arrow' || format === 'parquet'
        ? styles
        : []
  const param = unfit.find((name) => query[name] !== undefined)
  if (param === undefined) return
  throw new Problem('invalid_parameter', `${param} has no meaning for format=${format}`, { param })
}

/** True for the formats that are archives of another tool's files: both books and trades. */
function isTool(format: DownloadFormat): format is ToolFormat {
  return (TOOL_FORMATS as readonly string[]).includes(format)
}
