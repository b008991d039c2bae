"""Turnscope: what does multi-turn reinforcement learning improve in LLM agents?"""
