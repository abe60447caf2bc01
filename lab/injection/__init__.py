"""AgentDojo's tasks, attacks and judges over REST: does text that an API's answer holds change what is sent?"""
