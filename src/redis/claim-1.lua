-- Claims one intent in one step.
--
-- KEYS[1]  the intent's entry
-- ARGV     1 format, 2 intent hash, 3 token, 4 fingerprint, 5 lease in ms,
--          6 the entry that says "held by this token", 7 the most bytes an entry may have
-- Returns  {'run'}                        free, or this token's already: the lease starts (again)
--          {'replay', answer}             answered
--          {'busy', ms left}              held by another token
--          {'mismatch', fingerprint, kind} held or answered for another payload
--
-- What is not an entry of this format and this intent counts as absent and is overwritten.
local format, intent, token, fingerprint = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local lease, held, most = ARGV[5], ARGV[6], tonumber(ARGV[7])

local function found()
  -- An error (another type of key) is no number; a key that is not there has no bytes.
  local bytes = redis.pcall('STRLEN', KEYS[1])
  if type(bytes) ~= 'number' or bytes == 0 or bytes > most then return nil end
  local readable, entry = pcall(cjson.decode, redis.call('GET', KEYS[1]))
  if not readable or type(entry) ~= 'table' then return nil end
  if entry.format ~= format or entry.intent ~= intent then return nil end
  if type(entry.token) ~= 'string' or type(entry.fingerprint) ~= 'string' then return nil end
  if entry.kind == 'answered' and type(entry.answer) == 'string' then return entry end
  if entry.kind ~= 'held' then return nil end
  entry.left = redis.call('PTTL', KEYS[1])
  -- A lease without an end would hold for ever: not one of ours.
  if entry.left < 0 then return nil end
  return entry
end

local entry = found()
if entry then
  if entry.fingerprint ~= fingerprint then return { 'mismatch', entry.fingerprint, entry.kind } end
  if entry.kind == 'answered' then return { 'replay', entry.answer } end
  if entry.token ~= token then return { 'busy', entry.left } end
end
redis.call('SET', KEYS[1], held, 'PX', lease)
return { 'run' }
