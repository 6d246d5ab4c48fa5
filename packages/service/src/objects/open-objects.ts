import { fileURLToPath } from 'node:url'
import { PriorbookError } from '@priorbook/sdk/domain'
import { readAwsCredentials } from './aws-credentials.ts'
import { openFolderObjects } from './folder-objects.ts'
import type { ObjectStore } from './object-store.ts'
import { openS3Objects } from './s3-objects.ts'

/**
 * Opens the storage at an address: `s3://bucket/prefix?endpoint=...&region=...`, a `file:` URL, or the path
 * of a folder. The environment has the variables that all programs of AWS read. A folder that is not new must be
 * there, and not empty.
 */
export function openObjects(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
  isNew = true,
): ObjectStore {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(address)?.[1]?.toLowerCase()
  if (scheme === 's3') return openBucket(address, env)
  let folder = address
  if (scheme === 'file') {
    if (!/^file:\//i.test(address)) refuse('a file: URL has a whole path, as in file:///path')
    folder = orRefuse(() => fileURLToPath(address), 'it is no file: URL of a path')
  } else if (/^[a-z][a-z0-9+.-]+:\/\//i.test(address)) refuse('it is neither')
  if (folder === '' || folder.includes('\0')) refuse('no path is empty or has NUL in it')
  return openFolderObjects(folder, isNew)
}

function openBucket(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
): ObjectStore {
  const url = orRefuse(() => new URL(address), 'it is no URL')
  if (url.username !== '' || url.password !== '') {
    refuse('keys do not belong into it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  }
  if (url.host === '' || url.port !== '' || url.hash !== '') {
    refuse('behind s3:// it needs the name of a bucket')
  }
  for (const name of url.searchParams.keys()) {
    if (name !== 'endpoint' && name !== 'region') refuse('behind ? it has endpoint and region only')
  }
  const path = orRefuse(() => decodeURIComponent(url.pathname), 'its % signs are wrong')
  const region =
    url.searchParams.get('region') || env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'
  return openS3Objects({
    bucket: url.host,
    prefix: path.replace(/^\/+|\/+$/g, ''),
    endpoint:
      url.searchParams.get('endpoint') ||
      env['AWS_ENDPOINT_URL_S3'] ||
      env['AWS_ENDPOINT_URL'] ||
      `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
    region,
    credentials: readAwsCredentials(env),
  })
}

function orRefuse<T>(parse: () => T, why: string): T {
  try {
    return parse()
  } catch {
    return refuse(why)
  }
}

// The message leaves the address out, because it may contain a password.
function refuse(why: string): never {
  const forms = 's3://bucket/prefix?endpoint=...&region=..., a file: URL or the path of a folder'
  throw new PriorbookError(
    'invalid_config',
    `the address of the object storage has to be ${forms}: ${why}`,
  )
}
