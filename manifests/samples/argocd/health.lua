-- What Argo CD shows of a GPUAttribution. Argo CD gives the object as obj, runs Lua 5.1 without the
-- libraries string, os and io, and takes what this returns.

local function result(status, message)
  return {status = status, message = message}
end

local function drift_of(intent, severity)
  for _, drift in ipairs(intent and intent.drifts or {}) do
    if drift.severity == severity then
      return drift
    end
  end
end

local status = obj.status
if status == nil or status.conditions == nil then
  return result("Progressing", "not published yet")
end
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return result("Progressing", "a newer generation is not published yet")
end

-- What was last known to be ill is shown while the agent is silent, too.
local health = status.health or {}
if health.state == "Unhealthy" or health.state == "Degraded" then
  return result("Degraded", health.state .. ": " .. table.concat(health.reasons or {}, ", ") ..
                "; recovery action: " .. (health.recoveryAction or "Unknown"))
end
if status.reportState == "Pending" then
  return result("Progressing", "waiting for the first report of " .. (status.nodeName or "its node"))
end
if status.reportState == "Stale" then
  return result("Unknown", "the agent of " .. (status.nodeName or "its node") .. " is silent")
end
if health.state ~= "Healthy" then
  return result("Unknown", "health is not known: " .. table.concat(health.reasons or {}, ", "))
end

local critical = drift_of(status.intent, "Critical")
if critical ~= nil then
  return result("Degraded", critical.type .. ": " .. (critical.message or ""))
end
local warning = drift_of(status.intent, "Warning")
local slots = status.slots and status.slots.summary or "?"
local message = slots .. " slots held: " .. (status.tenantSummary or "nobody")
if warning ~= nil then
  message = message .. "; " .. warning.type .. ": " .. (warning.message or "")
end
return result("Healthy", message)
